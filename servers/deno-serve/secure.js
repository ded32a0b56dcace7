// The command `deno serve` has no TLS yet. These are its workers: threads that share the port.
import server from "./server.js";

const [hostname, port, workers, cert, key] = Deno.args;
const isMain = typeof WorkerGlobalScope === "undefined";

if (isMain) {
  for (let i = 1; i < workers; i++) new Worker(import.meta.url, { type: "module" });
}
Deno.serve(
  {
    hostname,
    port: Number(port),
    reusePort: workers > 1,
    cert: Deno.readTextFileSync(cert),
    key: Deno.readTextFileSync(key),
    onListen() {},
  },
  server.fetch,
);
