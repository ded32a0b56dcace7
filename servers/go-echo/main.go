package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"html/template"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v5"
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
	e := echo.New()
	e.Renderer = &echo.TemplateRenderer{Template: page}
	e.GET("/", func(c *echo.Context) error {
		return c.String(http.StatusOK, "Hello, World!")
	})
	e.GET("/wait", func(c *echo.Context) error {
		time.Sleep(10 * time.Millisecond)
		return c.String(http.StatusOK, "waited")
	})
	e.GET("/json", func(c *echo.Context) error {
		return c.JSON(http.StatusOK, newAccount())
	})
	e.POST("/echo", func(c *echo.Context) error {
		var m message
		if err := c.Bind(&m); err != nil {
			return err // 400
		}
		m.Seen = true
		return c.JSON(http.StatusOK, m)
	})
	e.GET("/db", func(c *echo.Context) error {
		id, err := strconv.Atoi(c.QueryParam("id"))
		if err != nil {
			return echo.ErrBadRequest
		}
		var found item
		query := pool.QueryRow(c.Request().Context(), "SELECT id, name, price FROM item WHERE id = $1", id)
		switch err := query.Scan(&found.ID, &found.Name, &found.Price); {
		case errors.Is(err, pgx.ErrNoRows):
			return echo.ErrNotFound
		case err != nil:
			return err
		default:
			return c.JSON(http.StatusOK, found)
		}
	})
	e.GET("/page", func(c *echo.Context) error {
		return c.Render(http.StatusOK, "page", rows)
	})
	e.POST("/upload", func(c *echo.Context) error {
		checksum := crc32.NewIEEE()
		length, err := io.Copy(checksum, c.Request().Body)
		if err != nil {
			return echo.ErrBadRequest
		}
		return c.String(http.StatusOK, fmt.Sprintf("%d %08x", length, checksum.Sum32()))
	})
	for n := range 100 {
		collection := fmt.Sprintf("resource%d", n)
		if n == 0 {
			collection = "users"
		}
		e.GET("/"+collection+"/:id/orders/:order", func(c *echo.Context) error {
			id, order, page := c.Param("id"), c.Param("order"), c.QueryParam("page")
			if strings.Contains(order, "/") { // echo's last parameter takes the rest of the path
				return echo.ErrNotFound
			}
			return c.String(http.StatusOK, collection+" "+id+" "+order+" "+page)
		})
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config := echo.StartConfig{Address: os.Args[1], HideBanner: true, HidePort: true}
	if os.Getenv("H2C") != "" {
		config.BeforeServeFunc = func(server *http.Server) error {
			server.Protocols = new(http.Protocols)
			server.Protocols.SetUnencryptedHTTP2(true)
			return nil
		}
	}
	if err := start(ctx, config, e); err != nil {
		log.Fatal(err)
	}
}

// With CERT and KEY it speaks TLS.
func start(ctx context.Context, config echo.StartConfig, e *echo.Echo) error {
	cert := os.Getenv("CERT")
	if cert == "" {
		return config.Start(ctx, e)
	}
	config.CertFilesystem = os.DirFS("/")
	return config.StartTLS(ctx, e, cert[1:], os.Getenv("KEY")[1:])
}
