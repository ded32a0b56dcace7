// node served.js CHROMIUM ORIGIN ENDED UNDER_WAY FOLDER: checks of `deadheat serve`.
// Prints "followed" after a trial arrived, then { check: null or its error } as JSON.

import assert from "node:assert/strict";
import { join } from "node:path";
import { findings } from "./axe.js";
import { refusedBy, run } from "./browser.js";

/** @import { Check } from "./browser.js" */

const MARKUP = '<img src=x onerror="window.taken=1">';
const [chromium, origin, ended, underWay, folder] = process.argv.slice(2);
const endedRun = `${origin}/runs/${ended}`;
const server = (/** @type {string} */ name) => `${origin}/servers/${encodeURIComponent(name)}`;
const pages = {
  runs: `${origin}/runs`,
  run: endedRun,
  server: server("alpha"),
  hostile: server(MARKUP),
};

/** @type {Record<string, Check<void>>} */
const checks = {
  async shows_the_ranking(visit) {
    const { page, requests } = await visit(endedRun);
    assert.ok((await page.$$(".ranking tbody tr")).length >= 2);
    assert.ok(requests.includes(`${endedRun}/document`));
    await page.click("nav a");
    await page.waitForSelector("td a");
    await page.click(`a[href="/runs/${ended}"]`);
    await page.waitForSelector(".ranking tbody tr");
  },

  async sends_no_request_elsewhere(visit) {
    for (const address of Object.values(pages)) {
      const { page, requests, complaints } = await visit(address);
      const elsewhere = requests.filter(
        (url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"),
      );
      assert.deepEqual([elsewhere, complaints], [[], []], address);
      assert.equal(await refusedBy(page, "https://elsewhere.invalid/"), "connect-src", address);
    }
  },

  async shows_hostile_text_as_text(visit) {
    for (const [name, address] of Object.entries(pages)) {
      const { page } = await visit(address);
      assert.equal(await page.evaluate(() => "taken" in window), false, name);
      assert.equal(await page.$$eval("img, iframe, object", (all) => all.length), 0, name);
      if (name !== "server") assert.ok((await page.textContent("main"))?.includes(MARKUP), name);
    }
  },

  async passes_axe(visit) {
    for (const [name, address] of Object.entries(pages)) {
      const { page } = await visit(address);
      const shot = (/** @type {string} */ scheme) =>
        page.screenshot({ path: join(folder, `${name}-${scheme}.png`) });
      assert.deepEqual(await findings(page, shot), [], name);
    }
  },

  async fits_a_phone(visit) {
    for (const [name, address] of Object.entries(pages)) {
      const { page } = await visit(address, { width: 390 });
      await page.screenshot({ path: join(folder, `${name}-phone.png`) });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${name} is ${wide} px wide`);
    }
  },

  async draws_one_two_and_many_runs(visit) {
    for (const [name, marks] of Object.entries({ once: 1, twice: 2, alpha: 60 })) {
      const { page } = await visit(server(name));
      assert.equal(await page.$$eval("circle", (all) => all.length), marks, name);
      const touching = await page.$$eval("svg text", (all) => {
        const boxes = all.map((element) => element.getBoundingClientRect());
        const meet = (/** @type {DOMRect} */ a, /** @type {DOMRect} */ b) =>
          a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3;
        return boxes.flatMap((a, i) =>
          boxes
            .slice(i + 1)
            .filter((b) => meet(a, b))
            .map(() => all[i].textContent),
        );
      });
      assert.deepEqual(touching, [], name);
      await page
        .locator("figure")
        .first()
        .screenshot({ path: join(folder, `chart-${marks}.png`) });
    }
  },

  async follows_a_run_under_way(visit) {
    const { page, complaints } = await visit(`${origin}/runs/${underWay}`);
    const status = page.locator("#live");
    const trials = async () =>
      Number(/Under way: (\d+) trials/.exec((await status.textContent()) ?? "")?.[1]);
    await page.waitForFunction(() =>
      /Under way/.test(document.getElementById("live")?.textContent ?? ""),
    );
    const before = await trials();
    await page.waitForFunction(
      (seen) =>
        Number(/Under way: (\d+)/.exec(document.getElementById("live")?.textContent ?? "")?.[1]) >
        seen,
      before,
    );
    await page.screenshot({ path: join(folder, "under-way.png") });
    console.log("followed");
    await page.waitForFunction(
      () => document.getElementById("live")?.textContent === "The run has ended.",
    );
    assert.deepEqual(complaints, []);
  },
};

console.log(JSON.stringify(await run(chromium, checks, undefined)));
