import cluster from "node:cluster";
import Router from "@koa/router";
import Koa from "koa";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const router = new Router();
  router.get("/", (context) => {
    context.body = "Hello, World!";
  });
  new Koa().use(router.routes()).listen({ host, port, backlog: 4096 });
}
