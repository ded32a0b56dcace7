import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { crc32 } from "node:zlib";
import { setTimeout as sleep } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { html } from "hono/html";

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

const page = (rows) => html`<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>Orders</title></head>
<body>
<h1>Orders</h1>
<table>
<tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
${rows.map((row) => html`<tr><td>${row.number}</td><td>${row.name}</td><td>${row.note}</td><td>${row.text}</td></tr>
`)}</table>
</body>
</html>
`;

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
  const app = new Hono();
  app.get("/", (context) => context.text("Hello, World!"));
  app.get("/wait", async (context) => {
    await sleep(10);
    return context.text("waited");
  });
  app.get("/json", (context) => context.json(account()));
  app.post("/echo", async (context) => {
    let message;
    try {
      message = await context.req.json();
    } catch {
      return context.body(null, 400);
    }
    return context.json({ ...message, seen: true });
  });
  app.get("/page", (context) => context.html(page(ROWS)));
  app.post("/upload", async (context) => context.text(await checksumOf(context.req.raw.body ?? [])));
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    app.get(`/${collection}/:id/orders/:order`, (context) => {
      const { id, order } = context.req.param();
      return context.text(`${collection} ${id} ${order} ${context.req.query("page")}`);
    });
  }
  createAdaptorServer({ fetch: app.fetch, createServer, serverOptions: tls }).listen({ host, port, backlog: 4096 });
}
