import fastify from "fastify";

const [host, port] = process.argv.slice(2);

const app = fastify();
app.get("/", async () => "Hello, World!");
await app.listen({ host, port: Number(port), backlog: 4096 });
