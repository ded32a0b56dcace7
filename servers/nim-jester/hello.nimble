version = "1.0.0"
author = "deadheat"
description = "Hello, World!"
license = "MIT"
bin = @["hello"]

requires "nim >= 1.6.0"
requires "https://github.com/dom96/httpbeast#abc13d11c210b614960fe8760e581d44cfb2e3e9"  # httpbeast 0.4.1
requires "https://github.com/dom96/jester#2dfac077170c62cd6ffc73e3dcfa29d29c641dcf"  # jester 0.6.0
