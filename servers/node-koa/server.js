import Router from "@koa/router";
import Koa from "koa";

const [host, port] = process.argv.slice(2);

const router = new Router();
router.get("/", (context) => {
  context.body = "Hello, World!";
});
new Koa().use(router.routes()).listen({ host, port, backlog: 4096 });
