import { crc32 } from "node:zlib";

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

// Deno has no router: a table of the first segment's 100 values.
const COLLECTIONS = new Set(["users"]);
for (let n = 1; n < 100; n++) COLLECTIONS.add(`resource${n}`);

// The answer to /COLLECTION/{id}/orders/{order}?page=N, or null.
function order({ pathname, searchParams }) {
  const segments = pathname.slice(1).split("/");
  const [collection, id, orders, number] = segments;
  if (segments.length !== 4 || orders !== "orders" || !COLLECTIONS.has(collection)) return null;
  try {
    const [user, of] = [id, number].map(decodeURIComponent);
    return `${collection} ${user} ${of} ${searchParams.get("page")}`;
  } catch {
    return null; // a malformed escape
  }
}

async function wait() {
  await new Promise((resolve) => setTimeout(resolve, 10));
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
    checksum = crc32(chunk, checksum);
  }
  return new Response(`${length} ${checksum.toString(16).padStart(8, "0")}`);
}

export default {
  fetch(request) {
    const url = new URL(request.url);
    switch (`${request.method} ${url.pathname}`) {
      case "GET /":
        return new Response("Hello, World!");
      case "GET /wait":
        return wait();
      case "GET /json":
        return Response.json(account());
      case "GET /page":
        return new Response(page(ROWS), { headers: { "Content-Type": "text/html; charset=utf-8" } });
      case "POST /echo":
        return echo(request);
      case "POST /upload":
        return upload(request);
    }
    const text = request.method === "GET" ? order(url) : null;
    return text === null ? new Response(null, { status: 404 }) : new Response(text);
  },
};
