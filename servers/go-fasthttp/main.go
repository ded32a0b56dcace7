package main

import (
	"log"
	"os"

	"github.com/valyala/fasthttp"
)

func hello(ctx *fasthttp.RequestCtx) {
	if !ctx.IsGet() || string(ctx.Path()) != "/" {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	}
	ctx.SetContentType("text/plain")
	ctx.SetBodyString("Hello, World!")
}

func main() {
	log.Fatal(fasthttp.ListenAndServe(os.Args[1], hello))
}
