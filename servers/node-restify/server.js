import cluster from "node:cluster";
import restify from "restify";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const server = restify.createServer();
  server.get("/", async (request, response) => {
    response.header("Content-Type", "text/plain");
    response.send("Hello, World!");
  });
  server.listen({ host, port, backlog: 4096 });
}
