package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"html/template"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v3"
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
	app := fiber.New(fiber.Config{UnescapePath: true})
	app.Get("/", func(c fiber.Ctx) error {
		return c.SendString("Hello, World!")
	})
	app.Get("/wait", func(c fiber.Ctx) error {
		time.Sleep(10 * time.Millisecond)
		return c.SendString("waited")
	})
	app.Get("/json", func(c fiber.Ctx) error {
		return c.JSON(newAccount())
	})
	app.Post("/echo", func(c fiber.Ctx) error {
		var m message
		if err := c.Bind().JSON(&m); err != nil {
			return fiber.ErrBadRequest
		}
		m.Seen = true
		return c.JSON(m)
	})
	app.Get("/db", func(c fiber.Ctx) error {
		id, err := strconv.Atoi(c.Query("id"))
		if err != nil {
			return fiber.ErrBadRequest
		}
		var found item
		query := pool.QueryRow(c.Context(), "SELECT id, name, price FROM item WHERE id = $1", id)
		switch err := query.Scan(&found.ID, &found.Name, &found.Price); {
		case errors.Is(err, pgx.ErrNoRows):
			return fiber.ErrNotFound
		case err != nil:
			return err
		default:
			return c.JSON(found)
		}
	})
	app.Get("/page", func(c fiber.Ctx) error {
		c.Type("html", "utf-8")
		return page.Execute(c, rows)
	})
	app.Post("/upload", func(c fiber.Ctx) error {
		body := c.Body()
		return c.SendString(fmt.Sprintf("%d %08x", len(body), crc32.ChecksumIEEE(body)))
	})
	for n := range 100 {
		collection := fmt.Sprintf("resource%d", n)
		if n == 0 {
			collection = "users"
		}
		app.Get("/"+collection+"/:id/orders/:order", func(c fiber.Ctx) error {
			return c.SendString(collection + " " + c.Params("id") + " " + c.Params("order") + " " + c.Query("page"))
		})
	}
	config := fiber.ListenConfig{DisableStartupMessage: true}
	config.CertFile, config.CertKeyFile = os.Getenv("CERT"), os.Getenv("KEY")
	log.Fatal(app.Listen(os.Args[1], config))
}
