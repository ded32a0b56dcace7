import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import https from "node:https";
import { crc32 } from "node:zlib";
import express from "express";
import pg from "pg";

const [host, port, workers] = process.argv.slice(2);
const { CERT, KEY } = process.env;
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

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 }); // connects later
  pool.on("error", () => {}); // an idle connection ended; the next query opens another
  const app = express();
  app.disable("x-powered-by");
  app.set("views", import.meta.dirname);
  app.set("view engine", "ejs");
  app.enable("view cache");
  app.get("/", (request, response) => {
    response.type("text/plain").send("Hello, World!");
  });
  app.get("/wait", (request, response) => {
    setTimeout(() => response.type("text/plain").send("waited"), 10);
  });
  app.get("/json", (request, response) => {
    response.json(account());
  });
  app.post("/echo", express.json(), (request, response) => {
    response.json({ ...request.body, seen: true });
  });
  app.get("/db", async (request, response) => {
    const id = Number(request.query.id);
    if (!Number.isInteger(id)) return response.sendStatus(400);
    const query = { name: "item", text: "SELECT id, name, price FROM item WHERE id = $1", values: [id] };
    const { rows } = await pool.query(query);
    if (rows.length === 0) return response.sendStatus(404);
    response.json(rows[0]);
  });
  app.get("/page", (request, response) => {
    response.render("page", { rows: ROWS });
  });
  app.post("/upload", async (request, response) => {
    let length = 0;
    let checksum = 0;
    for await (const chunk of request) {
      length += chunk.length;
      checksum = crc32(chunk, checksum);
    }
    response.type("text/plain").send(`${length} ${checksum.toString(16).padStart(8, "0")}`);
  });
  app.use((error, request, response, next) => {
    response.sendStatus(error.status ?? 500);
  });
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    app.get(`/${collection}/:id/orders/:order`, (request, response) => {
      const { id, order } = request.params;
      response.type("text/plain").send(`${collection} ${id} ${order} ${request.query.page}`);
    });
  }
  (tls ? https.createServer(tls, app) : app).listen({ host, port, backlog: 4096 });
}
