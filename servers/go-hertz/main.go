package main

import (
	"context"
	"os"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
)

func main() {
	hlog.SetLevel(hlog.LevelWarn)
	h := server.New(server.WithHostPorts(os.Args[1]), server.WithDisablePrintRoute(true))
	h.GET("/", func(_ context.Context, ctx *app.RequestContext) {
		ctx.SetContentType("text/plain")
		ctx.SetStatusCode(consts.StatusOK)
		ctx.WriteString("Hello, World!")
	})
	h.Spin()
}
