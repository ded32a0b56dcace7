import express from "express";

const [host, port] = process.argv.slice(2);

const app = express();
app.disable("x-powered-by");
app.disable("etag");
app.get("/", (request, response) => {
  response.type("text/plain").send("Hello, World!");
});
app.listen({ host, port, backlog: 4096 });
