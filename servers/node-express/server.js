import cluster from "node:cluster";
import express from "express";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const app = express();
  app.disable("x-powered-by");
  app.get("/", (request, response) => {
    response.type("text/plain").send("Hello, World!");
  });
  app.listen({ host, port, backlog: 4096 });
}
