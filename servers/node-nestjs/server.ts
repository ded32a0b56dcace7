import "reflect-metadata";
import cluster from "node:cluster";
import { Controller, Get, Header, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

@Controller()
class HelloController {
  @Get()
  @Header("Content-Type", "text/plain")
  hello(): string {
    return "Hello, World!";
  }
}

@Module({ controllers: [HelloController] })
class HelloModule {}

const [host, port, workers] = process.argv.slice(2);

if (cluster.isPrimary && Number(workers) > 1) {
  for (let i = 0; i < Number(workers); i++) cluster.fork();
} else {
  const app = await NestFactory.create(HelloModule, { logger: ["error", "warn"] });
  await app.init();
  app.getHttpServer().listen({ host, port: Number(port), backlog: 4096 });
}
