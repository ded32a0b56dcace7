module hello

go 1.25.0

require github.com/julienschmidt/httprouter v1.3.0
