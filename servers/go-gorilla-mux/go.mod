module hello

go 1.25.0

require github.com/gorilla/mux v1.8.1
