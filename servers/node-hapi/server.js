import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import Hapi from "@hapi/hapi";
import Vision from "@hapi/vision";
import ejs from "ejs";

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

const text = (h, body) => h.response(body).type("text/plain");

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const listener = createServer({ ...tls });
  const server = Hapi.server({ listener, tls: Boolean(tls), autoListen: false });
  await server.register(Vision);
  server.views({ engines: { ejs }, path: import.meta.dirname }); // caches compiled templates
  server.route([
    { method: "GET", path: "/", handler: (request, h) => text(h, "Hello, World!") },
    {
      method: "GET",
      path: "/wait",
      handler: async (request, h) => {
        await sleep(10);
        return text(h, "waited");
      },
    },
    { method: "GET", path: "/json", handler: () => account() },
    { method: "POST", path: "/echo", handler: (request) => ({ ...request.payload, seen: true }) },
    { method: "GET", path: "/page", handler: (request, h) => h.view("page", { rows: ROWS }) },
    {
      method: "POST",
      path: "/upload",
      options: { payload: { output: "stream", parse: false, maxBytes: 2 ** 22 } },
      handler: async (request, h) => text(h, await checksumOf(request.payload ?? [])),
    },
  ]);
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    server.route({
      method: "GET",
      path: `/${collection}/{id}/orders/{order}`,
      handler: ({ params, query }, h) => text(h, `${collection} ${params.id} ${params.order} ${query.page}`),
    });
  }
  await server.start();
  listener.listen({ host, port, backlog: 4096 });
}
