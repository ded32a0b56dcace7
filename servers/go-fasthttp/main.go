package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"html/template"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
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

// fasthttp has no router: a table of the first segment's 100 values.
var collections = map[string]bool{"users": true}

func text(ctx *fasthttp.RequestCtx, body string) {
	ctx.SetContentType("text/plain")
	ctx.SetBodyString(body)
}

func sendJSON(ctx *fasthttp.RequestCtx, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

func echo(ctx *fasthttp.RequestCtx) {
	var m message
	if err := json.Unmarshal(ctx.PostBody(), &m); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	m.Seen = true
	sendJSON(ctx, m)
}

// The answer to /COLLECTION/{id}/orders/{order}?page=N.
func order(ctx *fasthttp.RequestCtx) {
	parts := strings.Split(string(ctx.Path()), "/")
	if len(parts) != 5 || !collections[parts[1]] || parts[3] != "orders" {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	}
	text(ctx, parts[1]+" "+parts[2]+" "+parts[4]+" "+string(ctx.QueryArgs().Peek("page")))
}

func findRow(ctx *fasthttp.RequestCtx, pool *pgxpool.Pool) {
	id, err := strconv.Atoi(string(ctx.QueryArgs().Peek("id")))
	if err != nil {
		ctx.SetStatusCode(fasthttp.StatusBadRequest)
		return
	}
	var found item
	query := pool.QueryRow(ctx, "SELECT id, name, price FROM item WHERE id = $1", id)
	switch err := query.Scan(&found.ID, &found.Name, &found.Price); {
	case errors.Is(err, pgx.ErrNoRows):
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	case err != nil:
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
	default:
		sendJSON(ctx, found)
	}
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
	for n := 1; n < 100; n++ {
		collections[fmt.Sprintf("resource%d", n)] = true
	}
	rows := newRows()
	handler := func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Method()) + " " + string(ctx.Path()) {
		case "GET /":
			text(ctx, "Hello, World!")
		case "GET /wait":
			time.Sleep(10 * time.Millisecond)
			text(ctx, "waited")
		case "GET /json":
			sendJSON(ctx, newAccount())
		case "POST /echo":
			echo(ctx)
		case "GET /db":
			findRow(ctx, pool)
		case "GET /page":
			ctx.SetContentType("text/html; charset=utf-8")
			if err := page.Execute(ctx, rows); err != nil {
				log.Print(err)
			}
		case "POST /upload":
			body := ctx.PostBody()
			text(ctx, fmt.Sprintf("%d %08x", len(body), crc32.ChecksumIEEE(body)))
		default:
			if !ctx.IsGet() {
				ctx.SetStatusCode(fasthttp.StatusNotFound)
				return
			}
			order(ctx)
		}
	}
	if cert := os.Getenv("CERT"); cert != "" {
		log.Fatal(fasthttp.ListenAndServeTLS(os.Args[1], cert, os.Getenv("KEY"), handler))
	}
	log.Fatal(fasthttp.ListenAndServe(os.Args[1], handler))
}
