import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { setTimeout as sleep } from "node:timers/promises";
import view from "@fastify/view";
import ejs from "ejs";
import fastify from "fastify";
import pg from "pg";

const [host, port, workers] = process.argv.slice(2);
const { CERT, KEY, HTTP2 } = process.env;
const tls = CERT && { cert: readFileSync(CERT), key: readFileSync(KEY) };

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

// fastify's guide: a response with a schema is serialized by a function made for it.
const answers = (properties) => ({ schema: { response: { 200: { type: "object", properties } } } });
const [integer, number, string, boolean] = ["integer", "number", "string", "boolean"].map((type) => ({ type }));
const nullable = { type: ["string", "null"] };
const ITEM = { id: integer, name: string, price: number };
const ACCOUNT = answers({
  id: integer, name: string, email: string, city: string, active: boolean, balance: number,
  note: nullable, created: string, items: { type: "array", items: { type: "object", properties: ITEM } },
});
const ECHO = answers({
  id: integer, seen: boolean, sender: { type: "object", properties: { name: string, city: string } },
  tags: { type: "array", items: string }, score: number, parent: nullable, text: string,
});

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
  const app = fastify({ https: tls, http2: Boolean(HTTP2) });
  app.addContentTypeParser("application/octet-stream", (request, body, done) => done(null, body)); // a stream
  app.get("/", async () => "Hello, World!");
  app.get("/wait", async () => {
    await sleep(10);
    return "waited";
  });
  app.get("/json", ACCOUNT, async () => account());
  app.post("/echo", ECHO, async (request) => ({ ...request.body, seen: true }));
  app.get("/db", answers(ITEM), async (request, reply) => {
    const id = Number(request.query.id);
    if (!Number.isInteger(id)) return reply.code(400).send();
    const query = { name: "item", text: "SELECT id, name, price FROM item WHERE id = $1", values: [id] };
    const { rows } = await pool.query(query);
    return rows.length === 0 ? reply.code(404).send() : rows[0];
  });
  await app.register(view, { engine: { ejs }, root: import.meta.dirname });
  app.get("/page", (request, reply) => reply.view("page.ejs", { rows: ROWS }));
  app.post("/upload", async (request) => checksumOf(request.body ?? []));
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    app.get(`/${collection}/:id/orders/:order`, async (request) => {
      const { id, order } = request.params;
      return `${collection} ${id} ${order} ${request.query.page}`;
    });
  }
  await app.listen({ host, port: Number(port), backlog: 4096 });
}
