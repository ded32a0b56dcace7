package main

import (
	"io"
	"log"
	"net/http"
	"os"

	"github.com/julienschmidt/httprouter"
)

func hello(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, "Hello, World!")
}

func main() {
	router := httprouter.New()
	router.GET("/", hello)
	log.Fatal(http.ListenAndServe(os.Args[1], router))
}
