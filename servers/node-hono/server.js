import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";

const [host, port] = process.argv.slice(2);

const app = new Hono();
app.get("/", (context) => context.text("Hello, World!"));
createAdaptorServer({ fetch: app.fetch }).listen({ host, port, backlog: 4096 });
