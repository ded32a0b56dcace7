package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"html/template"
	"io"
	"os"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
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

func text(ctx *app.RequestContext, body string) {
	ctx.SetContentType("text/plain")
	ctx.SetStatusCode(consts.StatusOK)
	ctx.WriteString(body)
}

func main() {
	rows := newRows()
	hlog.SetLevel(hlog.LevelWarn)
	h := server.New(server.WithHostPorts(os.Args[1]), server.WithDisablePrintRoute(true), server.WithStreamBody(true))
	h.SetHTMLTemplate(page)
	h.GET("/", func(_ context.Context, ctx *app.RequestContext) {
		text(ctx, "Hello, World!")
	})
	h.GET("/wait", func(_ context.Context, ctx *app.RequestContext) {
		time.Sleep(10 * time.Millisecond)
		text(ctx, "waited")
	})
	h.GET("/json", func(_ context.Context, ctx *app.RequestContext) {
		ctx.JSON(consts.StatusOK, newAccount())
	})
	h.POST("/echo", func(_ context.Context, ctx *app.RequestContext) {
		var m message
		if err := ctx.BindJSON(&m); err != nil {
			ctx.SetStatusCode(consts.StatusBadRequest)
			return
		}
		m.Seen = true
		ctx.JSON(consts.StatusOK, m)
	})
	h.GET("/page", func(_ context.Context, ctx *app.RequestContext) {
		ctx.HTML(consts.StatusOK, "page", rows)
	})
	h.POST("/upload", func(_ context.Context, ctx *app.RequestContext) {
		checksum := crc32.NewIEEE()
		length, err := io.Copy(checksum, ctx.RequestBodyStream())
		if err != nil {
			ctx.SetStatusCode(consts.StatusBadRequest)
			return
		}
		text(ctx, fmt.Sprintf("%d %08x", length, checksum.Sum32()))
	})
	for n := range 100 {
		collection := fmt.Sprintf("resource%d", n)
		if n == 0 {
			collection = "users"
		}
		h.GET("/"+collection+"/:id/orders/:order", func(_ context.Context, ctx *app.RequestContext) {
			id, order, page := ctx.Param("id"), ctx.Param("order"), ctx.Query("page")
			text(ctx, collection+" "+id+" "+order+" "+page)
		})
	}
	h.Spin()
}
