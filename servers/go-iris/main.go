package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"os"
	"time"

	"github.com/kataras/iris/v12"
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

func main() {
	rows := newRows()
	app := iris.New()
	app.RegisterView(iris.HTML("./views", ".html"))
	app.Get("/", func(ctx iris.Context) {
		ctx.Text("Hello, World!")
	})
	app.Get("/wait", func(ctx iris.Context) {
		time.Sleep(10 * time.Millisecond)
		ctx.Text("waited")
	})
	app.Get("/json", func(ctx iris.Context) {
		ctx.JSON(newAccount())
	})
	app.Post("/echo", func(ctx iris.Context) {
		var m message
		if err := ctx.ReadJSON(&m); err != nil {
			ctx.StopWithStatus(iris.StatusBadRequest)
			return
		}
		m.Seen = true
		ctx.JSON(m)
	})
	app.Get("/page", func(ctx iris.Context) {
		if err := ctx.View("page.html", rows); err != nil {
			log.Print(err)
		}
	})
	app.Post("/upload", func(ctx iris.Context) {
		checksum := crc32.NewIEEE()
		length, err := io.Copy(checksum, ctx.Request().Body)
		if err != nil {
			ctx.StopWithStatus(iris.StatusBadRequest)
			return
		}
		ctx.Text("%d %08x", length, checksum.Sum32())
	})
	for n := range 100 {
		collection := fmt.Sprintf("resource%d", n)
		if n == 0 {
			collection = "users"
		}
		app.Get("/"+collection+"/{id}/orders/{order}", func(ctx iris.Context) {
			id, order, page := ctx.Params().Get("id"), ctx.Params().Get("order"), ctx.URLParam("page")
			ctx.Text("%s %s %s %s", collection, id, order, page)
		})
	}
	log.Fatal(app.Listen(os.Args[1], iris.WithoutStartupLog))
}
