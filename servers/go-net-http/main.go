package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, body)
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		text(w, "Hello, World!")
	})
	mux.HandleFunc("GET /wait", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Millisecond)
		text(w, "waited")
	})
	for n := range 100 {
		collection := fmt.Sprintf("resource%d", n)
		if n == 0 {
			collection = "users"
		}
		mux.HandleFunc("GET /"+collection+"/{id}/orders/{order}", func(w http.ResponseWriter, r *http.Request) {
			page := r.URL.Query().Get("page")
			text(w, collection+" "+r.PathValue("id")+" "+r.PathValue("order")+" "+page)
		})
	}
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}
