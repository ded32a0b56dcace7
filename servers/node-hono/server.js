import cluster from "node:cluster";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const app = new Hono();
  app.get("/", (context) => context.text("Hello, World!"));
  createAdaptorServer({ fetch: app.fetch }).listen({ host, port, backlog: 4096 });
}
