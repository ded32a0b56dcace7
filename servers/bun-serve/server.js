const [hostname, port] = process.argv.slice(2);

Bun.serve({
  hostname,
  port,
  routes: { "/": { GET: () => new Response("Hello, World!") } },
});
