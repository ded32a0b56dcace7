import cluster from "node:cluster";
import http from "node:http";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const server = http.createServer((request, response) => {
    if (request.method === "GET" && request.url === "/") {
      response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": 13 });
      response.end("Hello, World!");
    } else {
      response.writeHead(404).end();
    }
  });
  server.listen({ host, port, backlog: 4096 });
}
