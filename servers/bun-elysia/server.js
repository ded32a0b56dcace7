import { Elysia } from "elysia";

const [hostname, port, workers] = process.argv.slice(2);

if (workers > 1 && !process.env.WORKER) {
  const env = { ...process.env, WORKER: "1" };
  const children = Array.from({ length: workers }, () =>
    Bun.spawn([process.execPath, ...process.argv.slice(1)], {
      env,
      stdio: ["ignore", "inherit", "inherit"],
    }),
  );
  process.on("SIGTERM", () => {
    for (const child of children) child.kill();
    process.exit();
  });
} else {
  new Elysia()
    .get("/", () => "Hello, World!")
    .listen({ hostname, port, reusePort: workers > 1 });
}
