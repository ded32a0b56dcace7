import cluster from "node:cluster";
import fastify from "fastify";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const app = fastify();
  app.get("/", async () => "Hello, World!");
  await app.listen({ host, port: Number(port), backlog: 4096 });
}
