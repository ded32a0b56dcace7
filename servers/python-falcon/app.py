import falcon


class Hello:
    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        response.content_type = falcon.MEDIA_TEXT
        response.text = "Hello, World!"


app = falcon.App()
app.add_route("/", Hello())
