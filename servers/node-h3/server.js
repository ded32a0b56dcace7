import cluster from "node:cluster";
import { H3, serve } from "h3";

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const app = new H3().get("/", (event) => {
    event.res.headers.set("content-type", "text/plain");
    return "Hello, World!";
  });
  // Without reusePort, each worker asks for the port alone, and only the first one gets it.
  const reusePort = workers > 1;
  serve(app, { hostname: host, port, reusePort, silent: true, node: { backlog: 4096 } });
}
