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

async function wait() {
  await Bun.sleep(10);
  return new Response("waited");
}

async function echo(request) {
  let message;
  try {
    message = await request.json();
  } catch {
    return new Response(null, { status: 400 });
  }
  return Response.json({ ...message, seen: true });
}

async function upload(request) {
  let length = 0;
  let checksum = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    checksum = Bun.hash.crc32(chunk, checksum);
  }
  return new Response(`${length} ${checksum.toString(16).padStart(8, "0")}`);
}

const ORDERS = {};
for (let n = 0; n < 100; n++) {
  const collection = n === 0 ? "users" : `resource${n}`;
  const GET = (request) => {
    const { id, order } = request.params;
    const page = new URL(request.url).searchParams.get("page");
    return new Response(`${collection} ${id} ${order} ${page}`);
  };
  ORDERS[`/${collection}/:id/orders/:order`] = { GET };
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
  Bun.serve({
    hostname,
    port,
    reusePort: workers > 1,
    tls,
    http2,
    routes: {
      "/": { GET: () => new Response("Hello, World!") },
      "/wait": { GET: wait },
      "/json": { GET: () => Response.json(account()) },
      "/echo": { POST: echo },
      "/page": { GET: () => new Response(page(ROWS), { headers: { "Content-Type": "text/html; charset=utf-8" } }) },
      "/upload": { POST: upload },
      ...ORDERS,
    },
  });
}
