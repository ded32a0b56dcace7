package main

import (
	"log"
	"os"

	"github.com/kataras/iris/v12"
)

func main() {
	app := iris.New()
	app.Get("/", func(ctx iris.Context) {
		ctx.Text("Hello, World!")
	})
	log.Fatal(app.Listen(os.Args[1], iris.WithoutStartupLog))
}
