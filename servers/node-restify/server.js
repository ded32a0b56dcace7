import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import restify from "restify";

const [host, port, workers] = process.argv.slice(2);
const { CERT, KEY, HTTP2 } = process.env;
const tls = CERT && { cert: readFileSync(CERT), key: readFileSync(KEY) };
const { bodyParser, queryParser } = restify.plugins;

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

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (value) => String(value).replace(/[&<>"']/g, (sign) => ESCAPES[sign]);
const page = (rows) => `<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>Orders</title></head>
<body>
<h1>Orders</h1>
<table>
<tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
${rows.map((row) => `<tr><td>${escape(row.number)}</td><td>${escape(row.name)}</td>\
<td>${escape(row.note)}</td><td>${escape(row.text)}</td></tr>
`).join("")}</table>
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

function text(response, body) {
  response.header("Content-Type", "text/plain");
  response.send(body);
}

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const server = restify.createServer(HTTP2 ? { http2: tls } : tls);
  server.get("/", async (request, response) => text(response, "Hello, World!"));
  server.get("/wait", async (request, response) => {
    await sleep(10);
    text(response, "waited");
  });
  server.get("/json", async (request, response) => {
    response.send(account());
  });
  server.post("/echo", bodyParser({ mapParams: false }), async (request, response) => {
    response.send({ ...request.body, seen: true });
  });
  server.get("/page", async (request, response) => {
    response.sendRaw(200, page(ROWS), { "Content-Type": "text/html; charset=utf-8" });
  });
  server.post("/upload", async (request, response) => {
    text(response, await checksumOf(request));
  });
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    const parse = queryParser({ mapParams: false });
    server.get(`/${collection}/:id/orders/:order`, parse, async (request, response) => {
      const { id, order } = request.params;
      text(response, `${collection} ${id} ${order} ${request.query.page}`);
    });
  }
  server.listen({ host, port, backlog: 4096 });
}
