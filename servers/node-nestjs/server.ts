import "reflect-metadata";
import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { Body, Controller, Get, Header, HttpCode, Module, Param, Post, Query, Render, Req } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { NestExpressApplication } from "@nestjs/platform-express";

const NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", `it's "quoted"`, "a < b > c"];
const TEXT =
  "Packed by hand on the day it came in, checked twice, and sent with the early van. " +
  "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " +
  "the gate sticks in wet weather. Keep it dry and upright, and return the empty box.";
const ROWS = Array.from({ length: 200 }, (_, n) => {
  return { number: n + 1, name: `Item ${n + 1}`, note: NOTES[(n + 1) % 5], text: TEXT };
});

function account() {
  const items = Array.from({ length: 10 }, (_, n) => ({ id: n + 1, name: `Item ${n + 1}`, price: n + 1.25 }));
  return {
    id: 4711, name: "Ada Example", email: "ada@example.org", city: "Zürich",
    active: true, balance: 1250.75, note: null, created: "2026-11-22T10:30:00Z", items,
  };
}

@Controller()
class HelloController {
  @Get()
  @Header("Content-Type", "text/plain")
  hello(): string {
    return "Hello, World!";
  }

  @Get("wait")
  @Header("Content-Type", "text/plain")
  async pause(): Promise<string> {
    await sleep(10);
    return "waited";
  }

  @Get("json")
  json(): object {
    return account();
  }

  @Post("echo")
  @HttpCode(200)
  echo(@Body() message: object): object {
    return { ...message, seen: true };
  }

  @Get("page")
  @Render("page")
  page(): object {
    return { rows: ROWS };
  }

  @Post("upload")
  @HttpCode(200)
  @Header("Content-Type", "text/plain")
  async upload(@Req() request: IncomingMessage): Promise<string> {
    let length = 0;
    let checksum = 0;
    for await (const chunk of request) {
      length += chunk.length;
      checksum = crc32(chunk, checksum);
    }
    return `${length} ${checksum.toString(16).padStart(8, "0")}`;
  }
}

function ordersOf(collection: string) {
  @Controller(collection)
  class OrdersController {
    @Get(":id/orders/:order")
    @Header("Content-Type", "text/plain")
    order(@Param("id") id: string, @Param("order") order: string, @Query("page") page: string): string {
      return `${collection} ${id} ${order} ${page}`;
    }
  }
  return OrdersController;
}

const COLLECTIONS = ["users", ...Array.from({ length: 99 }, (_, n) => `resource${n + 1}`)];

@Module({ controllers: [HelloController, ...COLLECTIONS.map(ordersOf)] })
class HelloModule {}

const [host, port, workers] = process.argv.slice(2);
const { CERT, KEY } = process.env;
const httpsOptions = CERT && KEY ? { cert: readFileSync(CERT), key: readFileSync(KEY) } : undefined;

if (cluster.isPrimary && Number(workers) > 1) {
  for (let i = 0; i < Number(workers); i++) cluster.fork();
} else {
  const app = await NestFactory.create<NestExpressApplication>(HelloModule, {
    logger: ["error", "warn"],
    httpsOptions,
  });
  app.setBaseViewsDir(import.meta.dirname);
  app.setViewEngine("ejs");
  app.enable("view cache");
  await app.init();
  app.getHttpServer().listen({ host, port: Number(port), backlog: 4096 });
}
