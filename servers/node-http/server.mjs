import cluster from "node:cluster";
import http from "node:http";

const [host, port, workers] = process.argv.slice(2);

// Node has no router: a table of the first segment's 100 values.
const COLLECTIONS = new Set(["users"]);
for (let n = 1; n < 100; n++) COLLECTIONS.add(`resource${n}`);

function send(response, text) {
  response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

// The answer to /COLLECTION/{id}/orders/{order}?page=N, or null.
function order(target) {
  const { pathname, searchParams } = URL.parse(target, "http://localhost") ?? {};
  if (pathname === undefined) return null;
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

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const server = http.createServer((request, response) => {
    if (request.method === "GET" && request.url === "/") {
      response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": 13 });
      response.end("Hello, World!");
      return;
    }
    if (request.method === "GET" && request.url === "/wait") {
      setTimeout(send, 10, response, "waited");
      return;
    }
    const text = request.method === "GET" ? order(request.url) : null;
    if (text === null) response.writeHead(404).end();
    else send(response, text);
  });
  server.listen({ host, port, backlog: 4096 });
}
