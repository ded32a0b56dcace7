import cluster from "node:cluster";
import { createServer } from "node:http";
import Hapi from "@hapi/hapi";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const listener = createServer();
  const server = Hapi.server({ listener, autoListen: false });
  server.route({
    method: "GET",
    path: "/",
    handler: (request, h) => h.response("Hello, World!").type("text/plain"),
  });
  await server.start();
  listener.listen({ host, port, backlog: 4096 });
}
