import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { crc32 } from "node:zlib";
import polka from "polka";

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

function send(response, text, type = "text/plain") {
  response.writeHead(200, { "Content-Type": type, "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

async function echo(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  let message;
  try {
    message = JSON.parse(Buffer.concat(chunks));
  } catch {
    response.writeHead(400).end();
    return;
  }
  message.seen = true;
  send(response, JSON.stringify(message), "application/json");
}

async function upload(request, response) {
  let length = 0;
  let checksum = 0;
  for await (const chunk of request) {
    length += chunk.length;
    checksum = crc32(chunk, checksum);
  }
  send(response, `${length} ${checksum.toString(16).padStart(8, "0")}`);
}

// Polka leaves escapes in the parameters of a path.
function decode(request, response, next) {
  try {
    for (const [name, value] of Object.entries(request.params)) request.params[name] = decodeURIComponent(value);
  } catch {
    response.writeHead(400).end();
    return;
  }
  next();
}

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const app = polka({ server: createServer({ ...tls }) })
    .get("/", (request, response) => send(response, "Hello, World!"))
    .get("/wait", (request, response) => setTimeout(send, 10, response, "waited"))
    .get("/json", (request, response) => send(response, JSON.stringify(account()), "application/json"))
    .get("/page", (request, response) => send(response, page(ROWS), "text/html; charset=utf-8"))
    .post("/echo", echo)
    .post("/upload", upload);
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    app.get(`/${collection}/:id/orders/:order`, decode, (request, response) => {
      const { id, order } = request.params;
      send(response, `${collection} ${id} ${order} ${request.query.page}`);
    });
  }
  app.listen({ host, port, backlog: 4096 });
}
