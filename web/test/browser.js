// A headless Chromium without background requests.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/**
 * @import { BrowserContext, Page } from "playwright-core"
 * @typedef {{ page: Page, complaints: string[], requests: string[] }} Visited
 * @typedef {(address: string, options?: { width?: number }) => Promise<Visited>} Visit
 */
/**
 * @template Given
 * @typedef {(visit: Visit, given: Given) => Promise<void>} Check
 */

const CHECKS_AT_ONCE = 3; // keeps two CPUs busy while a page waits

const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Runs `work` with a browser that has a fresh, temporary profile.
 * @template T
 * @param {string} executablePath
 * @param {(context: BrowserContext) => Promise<T>} work
 */
export async function withBrowser(executablePath, work, options = {}) {
  const profile = await mkdtemp(join(tmpdir(), "deadheat-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: QUIET,
    ...options,
  });
  try {
    return await work(context);
  } finally {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  }
}

/**
 * A page that shows `address`, with its console warnings and errors, and its requests.
 * @param {BrowserContext} context
 * @param {string} address
 */
export async function visit(context, address, { width = 1280 } = {}) {
  const page = await context.newPage();
  /** @type {string[]} */
  const complaints = [];
  /** @type {string[]} */
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(address);
  await page.waitForSelector("h1");
  return { page, complaints, requests };
}

/**
 * Runs all checks in one browser, `CHECKS_AT_ONCE` at a time; null for each that passes, or its
 * error.
 * @template Given
 * @param {string} executablePath
 * @param {Record<string, Check<Given>>} checks
 * @param {Given} given
 */
export async function run(executablePath, checks, given) {
  return withBrowser(executablePath, async (context) => {
    /** @type {Record<string, string | null>} */
    const outcomes = Object.fromEntries(Object.keys(checks).map((name) => [name, null]));
    const waiting = Object.entries(checks);
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [name, check] = next;
        /** @type {Page[]} */
        const pages = [];
        /** @type {Visit} */
        const show = async (address, options) => {
          const visited = await visit(context, address, options);
          pages.push(visited.page);
          return visited;
        };
        await check(show, given).catch((error) => {
          outcomes[name] = error.stack;
        });
        await Promise.all(pages.map((page) => page.close()));
      }
    };
    await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, work));
    return outcomes;
  });
}

/**
 * The directive of the page's policy that refuses a request to `url`.
 * @param {Page} page
 * @param {string} url
 */
export function refusedBy(page, url) {
  return page.evaluate(
    (url) =>
      new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) =>
          resolve(event.violatedDirective),
        );
        fetch(url).catch(() => {});
      }),
    url,
  );
}
