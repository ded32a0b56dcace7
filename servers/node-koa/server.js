import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { crc32 } from "node:zlib";
import { setTimeout as sleep } from "node:timers/promises";
import { bodyParser } from "@koa/bodyparser";
import Router from "@koa/router";
import render from "@koa/ejs";
import Koa from "koa";
import pg from "pg";

const [host, port, workers] = process.argv.slice(2);
const { CERT, KEY, HTTP2 } = process.env;
const tls = CERT && { cert: readFileSync(CERT), key: readFileSync(KEY) };
const [plain, secure] = HTTP2
  ? [http2.createServer, http2.createSecureServer]
  : [http.createServer, https.createServer];
const createServer = tls ? secure : plain;

const NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", `it's "quoted"`, "a < b > c"];
const TEXT =
  "Packed by hand on the day it came in, checked twice, and sent with the early van. " +
  "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " +
  "the gate sticks in wet weather. Keep it dry and upright, and return the empty box.";
const ROWS = Array.from({ length: 200 }, (_, n) => {
  return { number: n + 1, name: `Item ${n + 1}`, note: NOTES[(n + 1) % 5], text: TEXT };
});

function account() {
  const items = Array.from({ length: 10 }, (_, n) => ({ id: n + 1, name: `Item ${n + 1}`, price: n + 1.25 }));
  return {
    id: 4711, name: "Ada Example", email: "ada@example.org", city: "Zürich",
    active: true, balance: 1250.75, note: null, created: "2026-11-22T10:30:00Z", items,
  };
}

async function checksumOf(body) {
  let length = 0;
  let checksum = 0;
  for await (const chunk of body) {
    length += chunk.length;
    checksum = crc32(chunk, checksum);
  }
  return `${length} ${checksum.toString(16).padStart(8, "0")}`;
}

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 }); // connects later
  pool.on("error", () => {}); // an idle connection ended; the next query opens another
  const router = new Router();
  router.get("/", (context) => {
    context.body = "Hello, World!";
  });
  router.get("/wait", async (context) => {
    await sleep(10);
    context.body = "waited";
  });
  router.get("/json", (context) => {
    context.body = account();
  });
  router.post("/echo", bodyParser(), (context) => {
    context.body = { ...context.request.body, seen: true };
  });
  router.get("/db", async (context) => {
    const id = Number(context.query.id);
    if (!Number.isInteger(id)) context.throw(400);
    const query = { name: "item", text: "SELECT id, name, price FROM item WHERE id = $1", values: [id] };
    const { rows } = await pool.query(query);
    if (rows.length === 0) context.throw(404);
    context.body = rows[0];
  });
  router.get("/page", async (context) => {
    await context.render("page", { rows: ROWS });
  });
  router.post("/upload", async (context) => {
    context.body = await checksumOf(context.req);
  });
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    router.get(`/${collection}/:id/orders/:order`, (context) => {
      const { id, order } = context.params;
      context.body = `${collection} ${id} ${order} ${context.query.page}`;
    });
  }
  const app = new Koa();
  render(app, { root: import.meta.dirname, layout: false, viewExt: "ejs" }); // caches compiled templates
  app.on("error", () => {}); // a client's mistake is no news
  app.use(router.routes());
  createServer({ ...tls }, app.callback()).listen({ host, port, backlog: 4096 });
}
