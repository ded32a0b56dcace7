import { Html } from "@kitajs/html";
import { Elysia } from "elysia";

const [hostname, port, workers] = process.argv.slice(2);
const { CERT, KEY, HTTP2 } = process.env;
const tls = CERT && { cert: Bun.file(CERT), key: Bun.file(KEY) };
const http2 = Boolean(HTTP2);

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

const page = (rows) => (
  <html>
    <head>{'<meta charset="utf-8">'}<title>Orders</title></head>
    <body>
      <h1>Orders</h1>
      <table>
        <tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
        {rows.map((row) => (
          <tr><td>{row.number}</td><td safe>{row.name}</td><td safe>{row.note}</td><td safe>{row.text}</td></tr>
        ))}
      </table>
    </body>
  </html>
);

async function wait() {
  await Bun.sleep(10);
  return "waited";
}

async function upload({ request }) {
  let length = 0;
  let checksum = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    checksum = Bun.hash.crc32(chunk, checksum);
  }
  return `${length} ${checksum.toString(16).padStart(8, "0")}`;
}

function sendPage({ set }) {
  set.headers["content-type"] = "text/html; charset=utf-8";
  return "<!DOCTYPE html>" + page(ROWS);
}

if (workers > 1 && !process.env.WORKER) {
  const env = { ...process.env, WORKER: "1" };
  const children = Array.from({ length: workers }, () =>
    Bun.spawn([process.execPath, ...process.argv.slice(1)], {
      env,
      stdio: ["ignore", "inherit", "inherit"],
    }),
  );
  process.on("SIGTERM", () => {
    for (const child of children) child.kill();
    process.exit();
  });
} else {
  const app = new Elysia()
    .get("/", () => "Hello, World!")
    .get("/wait", wait)
    .get("/json", () => account())
    .post("/echo", ({ body }) => ({ ...body, seen: true }), { parse: "json" })
    .get("/page", sendPage)
    .post("/upload", upload, { parse: "none" });
  for (let n = 0; n < 100; n++) {
    const collection = n === 0 ? "users" : `resource${n}`;
    app.get(`/${collection}/:id/orders/:order`, ({ params, query }) => {
      return `${collection} ${params.id} ${params.order} ${query.page}`;
    });
  }
  app.listen({ hostname, port, reusePort: workers > 1, tls, http2 });
}
