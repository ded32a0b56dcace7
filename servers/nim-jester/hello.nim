import jester
import std/[os, strutils]

settings:
  bindAddr = paramStr(1)
  port = Port(parseInt(paramStr(2)))
  numThreads = parseInt(paramStr(3))

routes:
  get "/":
    resp Http200, "Hello, World!", "text/plain"
