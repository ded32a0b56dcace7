// node gallery.js CHROMIUM FOLDER SHOTS: checks of a gallery that `deadheat site` wrote, as files.
// Prints { check: null or its error } as JSON.

import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findings } from "./axe.js";
import { run } from "./browser.js";

/** @import { Check } from "./browser.js" */

const MARKUP = '<img src=x onerror="window.taken=1">';
const [chromium, folder, shots] = process.argv.slice(2);
const index = pathToFileURL(join(folder, "index.html")).href;

/** @type {Record<string, Check<void>>} */
const checks = {
  async leads_from_the_index_to_every_kind_of_page(visit) {
    const { page } = await visit(index);
    await page.click("table a");
    await page.waitForSelector(".ranking tbody tr");
    await page.click("nav a");
    await page.click(".names a:text-is('alpha')");
    assert.equal(await page.textContent("h1"), "alpha");
    await page.click("table a[href*=comparisons]:text-is('reference-like')");
    assert.match((await page.textContent("h1")) ?? "", /alpha is .* faster than reference-like \[/);
    await page.waitForSelector(".card svg");
    await page.click("p a:text-is('reference-like')");
    assert.equal(await page.textContent("h1"), "reference-like");
    await page.click("nav a");
    assert.equal(page.url(), index);
  },

  async sends_no_request(visit) {
    for (const address of await kinds(visit)) {
      const { page, requests, complaints } = await visit(address);
      const sent = requests.filter((url) => url !== address && !url.startsWith("data:"));
      assert.deepEqual([sent, complaints], [[], []], address);
      assert.equal(await page.evaluate(() => "taken" in window), false);
      assert.equal(await page.$$eval("img, iframe, object", (all) => all.length), 0);
    }
  },

  async shows_hostile_text_as_text(visit) {
    const { page } = await visit(index);
    assert.ok((await page.textContent("main"))?.includes(MARKUP));
  },

  async passes_axe(visit) {
    for (const [i, address] of (await kinds(visit)).entries()) {
      const { page } = await visit(address);
      const shot = (/** @type {string} */ scheme) =>
        page.screenshot({ path: join(shots, `gallery-${i}-${scheme}.png`) });
      assert.deepEqual(await findings(page, shot), [], address);
    }
  },

  async fits_a_phone_and_paper(visit) {
    for (const [i, address] of (await kinds(visit)).entries()) {
      const { page } = await visit(address, { width: 390 });
      await page.screenshot({ path: join(shots, `gallery-${i}-phone.png`) });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${address} is ${wide} px wide`);
      const cut = await page.$$eval(".wide", (all) =>
        all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.ariaLabel),
      );
      assert.deepEqual(cut, [], `cut off in ${address}`);
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.isVisible("main"), true);
    }
  },
};

/**
 * The index, and the first page of each other kind.
 * @param {Parameters<Check<void>>[0]} visit
 */
async function kinds(visit) {
  const { page } = await visit(index);
  const href = (/** @type {string} */ selector) =>
    page.$eval(selector, (link) => /** @type {HTMLAnchorElement} */ (link).href);
  const pages = [index, await href("table a"), await href(".names a:text-is('alpha')")];
  await page.goto(pages[2]);
  return [...pages, await href("table a[href*=comparisons]")];
}

console.log(JSON.stringify(await run(chromium, checks, undefined)));
