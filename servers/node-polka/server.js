import cluster from "node:cluster";
import polka from "polka";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  polka()
    .get("/", (request, response) => {
      response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": 13 });
      response.end("Hello, World!");
    })
    .listen({ host, port, backlog: 4096 });
}
