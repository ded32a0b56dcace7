import cluster from "node:cluster";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { getQuery, getRouterParams, H3, HTTPError, serve } from "h3";

const [host, port, workers] = process.argv.slice(2);
const { CERT, KEY } = process.env;
const tls = CERT && { cert: CERT, key: KEY };

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

function text(event, body) {
  event.res.headers.set("content-type", "text/plain");
  return body;
}

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const app = new H3().get("/", (event) => text(event, "Hello, World!"));
  app.get("/wait", async (event) => {
    await sleep(10);
    return text(event, "waited");
  });
  app.get("/json", () => account());
  app.post("/echo", async (event) => {
    let message;
    try {
      message = await event.req.json();
    } catch {
      throw new HTTPError({ status: 400 });
    }
    return { ...message, seen: true };
  });
  app.get("/page", (event) => {
    event.res.headers.set("content-type", "text/html; charset=utf-8");
    return page(ROWS);
  });
  app.post("/upload", async (event) => text(event, await checksumOf(event.req.body ?? [])));
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    app.get(`/${collection}/:id/orders/:order`, (event) => {
      const { id, order } = getRouterParams(event, { decode: true });
      return text(event, `${collection} ${id} ${order} ${getQuery(event).page}`);
    });
  }
  // Without reusePort, each worker asks for the port alone, and only the first one gets it.
  const reusePort = workers > 1;
  serve(app, { hostname: host, port, tls, reusePort, silent: true, node: { backlog: 4096 } });
}
