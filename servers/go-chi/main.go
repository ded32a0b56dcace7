package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"html/template"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type item struct {
	ID    int     `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

type account struct {
	ID      int     `json:"id"`
	Name    string  `json:"name"`
	Email   string  `json:"email"`
	City    string  `json:"city"`
	Active  bool    `json:"active"`
	Balance float64 `json:"balance"`
	Note    *string `json:"note"`
	Created string  `json:"created"`
	Items   []item  `json:"items"`
}

type message struct {
	ID     int64 `json:"id"`
	Seen   bool  `json:"seen"`
	Sender struct {
		Name string `json:"name"`
		City string `json:"city"`
	} `json:"sender"`
	Tags   []string `json:"tags"`
	Score  float64  `json:"score"`
	Parent *int64   `json:"parent"`
	Text   string   `json:"text"`
}

type row struct {
	Number           int
	Name, Note, Text string
}

const note = "Packed by hand on the day it came in, checked twice, and sent with the early van. " +
	"Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " +
	"the gate sticks in wet weather. Keep it dry and upright, and return the empty box."

var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>Orders</title></head>
<body>
<h1>Orders</h1>
<table>
<tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
{{range .}}<tr><td>{{.Number}}</td><td>{{.Name}}</td><td>{{.Note}}</td><td>{{.Text}}</td></tr>
{{end}}</table>
</body>
</html>
`))

func newAccount() account {
	items := make([]item, 10)
	for n := range items {
		items[n] = item{n + 1, fmt.Sprintf("Item %d", n+1), float64(n) + 1.25}
	}
	return account{4711, "Ada Example", "ada@example.org", "Zürich", true, 1250.75, nil, "2026-11-22T10:30:00Z", items}
}

func newRows() []row {
	notes := []string{"plain", `<script>alert("x")</script>`, "fish & chips", `it's "quoted"`, "a < b > c"}
	rows := make([]row, 200)
	for n := range rows {
		rows[n] = row{n + 1, fmt.Sprintf("Item %d", n+1), notes[(n+1)%5], note}
	}
	return rows
}

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, body)
}

func sendJSON(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

// The pool connects when a query first needs it. Without DATABASE_URL there is none.
func connect(url string) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	return pool
}

func main() {
	pool := connect(os.Getenv("DATABASE_URL"))
	rows := newRows()
	router := chi.NewRouter()
	router.Get("/", func(w http.ResponseWriter, _ *http.Request) {
		text(w, "Hello, World!")
	})
	router.Get("/wait", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Millisecond)
		text(w, "waited")
	})
	router.Get("/json", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, newAccount())
	})
	router.Post("/echo", func(w http.ResponseWriter, r *http.Request) {
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m.Seen = true
		sendJSON(w, m)
	})
	router.Get("/db", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.URL.Query().Get("id"))
		if err != nil {
			http.Error(w, "id: expected a number", http.StatusBadRequest)
			return
		}
		var found item
		query := pool.QueryRow(r.Context(), "SELECT id, name, price FROM item WHERE id = $1", id)
		switch err := query.Scan(&found.ID, &found.Name, &found.Price); {
		case errors.Is(err, pgx.ErrNoRows):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			sendJSON(w, found)
		}
	})
	router.Get("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := page.Execute(w, rows); err != nil {
			log.Print(err)
		}
	})
	router.Post("/upload", func(w http.ResponseWriter, r *http.Request) {
		checksum := crc32.NewIEEE()
		length, err := io.Copy(checksum, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text(w, fmt.Sprintf("%d %08x", length, checksum.Sum32()))
	})
	for n := range 100 {
		collection := fmt.Sprintf("resource%d", n)
		if n == 0 {
			collection = "users"
		}
		router.Get("/"+collection+"/{id}/orders/{order}", func(w http.ResponseWriter, r *http.Request) {
			page := r.URL.Query().Get("page")
			text(w, collection+" "+chi.URLParam(r, "id")+" "+chi.URLParam(r, "order")+" "+page)
		})
	}
	server := http.Server{Addr: os.Args[1], Handler: router}
	if os.Getenv("H2C") != "" {
		server.Protocols = new(http.Protocols)
		server.Protocols.SetUnencryptedHTTP2(true)
	}
	if cert := os.Getenv("CERT"); cert != "" {
		log.Fatal(server.ListenAndServeTLS(cert, os.Getenv("KEY")))
	}
	log.Fatal(server.ListenAndServe())
}
