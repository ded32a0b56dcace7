package main

import (
	"io"
	"log"
	"net/http"
	"os"

	"github.com/gorilla/mux"
)

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, "Hello, World!")
}

func main() {
	router := mux.NewRouter()
	router.HandleFunc("/", hello).Methods(http.MethodGet)
	log.Fatal(http.ListenAndServe(os.Args[1], router))
}
