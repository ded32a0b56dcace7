version = "1.0.0"
author = "deadheat"
description = "Hello, World!"
license = "MIT"
bin = @["hello"]

requires "nim >= 1.6.0", "jester == 0.6.0", "httpbeast == 0.4.1"
