package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

func main() {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New() // gin.Default() would log every request
	router.GET("/", func(c *gin.Context) {
		c.String(http.StatusOK, "Hello, World!")
	})
	router.GET("/wait", func(c *gin.Context) {
		time.Sleep(10 * time.Millisecond)
		c.String(http.StatusOK, "waited")
	})
	for n := range 100 {
		collection := fmt.Sprintf("resource%d", n)
		if n == 0 {
			collection = "users"
		}
		router.GET("/"+collection+"/:id/orders/:order", func(c *gin.Context) {
			id, order, page := c.Param("id"), c.Param("order"), c.Query("page")
			c.String(http.StatusOK, "%s %s %s %s", collection, id, order, page)
		})
	}
	log.Fatal(router.Run(os.Args[1]))
}
