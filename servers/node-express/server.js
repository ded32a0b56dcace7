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
  app.get("/wait", (request, response) => {
    setTimeout(() => response.type("text/plain").send("waited"), 10);
  });
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    app.get(`/${collection}/:id/orders/:order`, (request, response) => {
      const { id, order } = request.params;
      response.type("text/plain").send(`${collection} ${id} ${order} ${request.query.page}`);
    });
  }
  app.listen({ host, port, backlog: 4096 });
}
