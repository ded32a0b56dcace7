// node board.js CHROMIUM FOLDER SHOTS: checks of boards as files: FOLDER/board is a whole one,
// FOLDER/made.html is an index with an older edition, FOLDER/large.html one of 150 servers, and
// FOLDER/rebuilt.html one with servers that were built anew for the second workload alone.
// FOLDER/audit.html is `deadheat audit` of boards of others.
// Prints { check: null or its error } as JSON.

import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findings } from "./axe.js";
import { run, withBrowser } from "./browser.js";

/** @import { Check } from "./browser.js" */

const MARKUP = '<img src=x onerror="window.taken=1">';
const [chromium, folder, shots] = process.argv.slice(2);
const index = pathToFileURL(join(folder, "board", "index.html")).href;
const made = pathToFileURL(join(folder, "made.html")).href;
const large = pathToFileURL(join(folder, "large.html")).href;
const rebuilt = pathToFileURL(join(folder, "rebuilt.html")).href;
const audit = pathToFileURL(join(folder, "audit.html")).href;

/** @import { Page } from "playwright-core" */

/** The names of the rows that show. @param {Page} page */
const names = (page) =>
  page.$$eval("#board tbody tr:not([hidden]) th a", (all) => all.map((each) => each.textContent));

/** @type {Record<string, Check<void>>} */
const checks = {
  async leads_from_the_index_to_every_kind_of_page(visit) {
    const { page } = await visit(index);
    await page.click(".about a");
    await page.waitForSelector(".ranking tbody tr");
    await page.click("nav a");
    await page.click("#board th a:text-is('alpha')");
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
    for (const [i, address] of [...(await kinds(visit)), made].entries()) {
      const { page } = await visit(address);
      const shot = (/** @type {string} */ scheme) =>
        page.screenshot({ path: join(shots, `board-${i}-${scheme}.png`) });
      assert.deepEqual(await findings(page, shot), [], address);
    }
  },

  async fits_a_phone_and_paper(visit) {
    for (const [i, address] of [...(await kinds(visit)), made].entries()) {
      const { page } = await visit(address, { width: 390 });
      await page.screenshot({ path: join(shots, `board-${i}-phone.png`) });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${address} is ${wide} px wide`);
      const cut = await page.$$eval(".wide", (all) =>
        all
          .filter((each) => each.scrollWidth > each.clientWidth + 1 && !each.querySelector("pre"))
          .map((each) => each.ariaLabel),
      );
      assert.deepEqual(cut, [], `cut off in ${address}`);
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.isVisible("main"), true);
    }
  },

  async sorts_filters_and_keeps_choices_in_the_link(visit) {
    const { page } = await visit(made);
    const first = await names(page);
    await page.click("thead button:text-is('json')");
    const byJson = await names(page);
    assert.notDeepEqual(byJson, first);
    await page.click("thead button:text-is('server')");
    const order = new Intl.Collator("en", { numeric: true });
    assert.deepEqual(await names(page), [...first].map(String).sort(order.compare));
    await page.selectOption("#language", "Go");
    await page.selectOption("#versions", "outdated");
    const go = await names(page);
    assert.ok(go.length > 0 && go.length < first.length && go.every((n) => n?.startsWith("go-")));
    await page.fill("#name", "go-01");
    const found = await names(page);
    const again = await visit(page.url());
    assert.deepEqual(await names(again.page), found);
    assert.equal(await again.page.inputValue("#language"), "Go");
    await again.page.click("#reset");
    assert.deepEqual(await names(again.page), first);
    assert.equal(again.page.url(), made);
    await page.click("thead button:text-is('CPU')");
    assert.equal(await page.getAttribute("[data-sort=cpu]", "aria-sort"), "ascending");
  },

  async opens_a_cell_by_mouse_and_keyboard(visit) {
    const { page } = await visit(made);
    await page.click("tbody tr:nth-child(2) td.heat a");
    const text = (await page.textContent("dialog")) ?? "";
    assert.match(text, /% of the best \[.*\], place/);
    assert.match(text, /\(above\)/);
    assert.match(text, /requests\/s/);
    assert.match(page.url(), /cell=/);
    const shared = await visit(page.url());
    assert.equal(await shared.page.isVisible("dialog[open]"), true);
    assert.match(
      (await page.getAttribute("dialog a:last-of-type", "href")) ?? "",
      /^(runs|servers)\//,
    );
    await page.keyboard.press("Escape");
    assert.equal(await page.isVisible("dialog[open]"), false);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    assert.match((await page.textContent("dialog h2")) ?? "", / on json$/);
    await page.keyboard.press("Escape");
    const wide = await visit(large);
    await wide.page.click("tbody tr:nth-child(2) td.heat:nth-child(6) a");
    assert.match((await wide.page.textContent("dialog h2")) ?? "", / on page$/);
    assert.match((await wide.page.textContent("dialog")) ?? "", /EJS renders the page\./);
    const stops = await page.$$eval(
      "td.heat a",
      (all) => all.filter((a) => a.tabIndex === 0).length,
    );
    assert.equal(stops, 1, "one stop of the Tab key for all cells");
    await page.click("tbody td.none a");
    assert.match((await page.textContent("dialog")) ?? "", /not raced on|No rank/);
  },

  async bug_half_the_rate_was_slower_by_100_percent(visit) {
    const { page } = await visit(rebuilt);
    await page.click("tbody tr:nth-child(2) td.heat a");
    const text = (await page.textContent("dialog")) ?? "";
    assert.match(text, /a \(above\) is faster by (49|5[01])\.\d %/);
    assert.match(text, /this one is faster than c \(below\) by (99|10[01])\.\d %/);
  },

  async follows_the_slider_and_the_mix(visit) {
    const { page } = await visit(made);
    const last = "tbody tr:nth-child(20) td.heat b";
    const before = Number(await page.textContent(last));
    await page.fill("#own", "80");
    assert.ok(Number(await page.textContent(last)) > before);
    assert.match((await page.textContent("#count")) ?? "", /With 10 ms of your own/);
    await page.click("summary");
    await page.fill(".weight[data-workload='0']", "3");
    await page.fill(".weight[data-workload='1']", "1");
    assert.equal(await page.textContent("tbody tr:first-child td.mix"), "100");
    assert.match(page.url(), /mix=hello%3A3%2Cjson%3A1/);
    const again = await visit(page.url());
    assert.equal(await again.page.textContent("tbody tr:first-child td.mix"), "100");
  },

  async shows_changes_that_intervals_support(visit) {
    const { page } = await visit(made);
    await page.selectOption("#before", "0");
    const colored = await page.$$eval("td.heat.up, td.heat.down", (all) => all.length);
    const plain = await page.$$eval("td.heat.same", (all) => all.length);
    assert.ok(colored > 0 && plain > 0, `${colored} colored, ${plain} plain`);
    assert.match((await page.textContent("td.heat.up b")) ?? "", /^\+.* %$/);
    await page.screenshot({ path: join(shots, "board-changes.png") });
  },

  async is_a_sorted_table_without_a_script(visit) {
    const { page } = await visit(made);
    const expected = await names(page);
    const withoutScripts = async (
      /** @type {import("playwright-core").BrowserContext} */ context,
    ) => {
      const plain = await context.newPage();
      await plain.goto(made);
      assert.deepEqual(await plain.locator("#board th a").allTextContents(), expected);
      assert.equal(await plain.locator("#choices").isVisible(), false);
    };
    await withBrowser(chromium, withoutScripts, { javaScriptEnabled: false });
  },

  async shows_a_large_board(visit) {
    const { page } = await visit(large);
    assert.equal((await names(page)).length, 150);
    await page.screenshot({ path: join(shots, "board-large.png") });
    const phone = await visit(large, { width: 390 });
    await phone.page.evaluate(() => document.querySelector("#count")?.scrollIntoView());
    await phone.page.screenshot({ path: join(shots, "board-large-phone.png") });
    const dark = await visit(large);
    await dark.page.emulateMedia({ colorScheme: "dark" });
    await dark.page.screenshot({ path: join(shots, "board-large-dark.png") });
  },

  async marks_cells_of_an_older_build(visit) {
    for (const width of [1280, 390]) {
      const { page } = await visit(rebuilt, { width });
      const marked = () =>
        page.$$eval("#board tbody td.heat", (cells) =>
          cells
            .filter((cell) => {
              const places = cell.querySelector("small");
              return places && getComputedStyle(places, "::after").content.includes("†");
            })
            .map(
              (cell) =>
                `${cell.closest("tr")?.querySelector("th a")?.textContent} ${cell.getAttribute("data-label")}`,
            )
            .sort(),
        );
      assert.match((await page.textContent("main")) ?? "", /A cell with † is of an older build/);
      assert.deepEqual(await marked(), ["a hello", "c hello"]);
      await page.click("thead button:text-is('json')");
      await page.fill("#own", "80");
      assert.deepEqual(await marked(), ["a hello", "c hello"], "sorted, with own work");
      await page.screenshot({ path: join(shots, `board-rebuilt-${width}.png`) });
      await page.click("td.heat.older a");
      const text = (await page.textContent("dialog")) ?? "";
      assert.match(text, /It is of an older build, version 1\.0\./);
    }
  },

  async shows_the_audit_of_another_board(visit) {
    for (const width of [1280, 390]) {
      const { page, requests, complaints } = await visit(audit, { width });
      const shot = (/** @type {string} */ scheme) =>
        page.screenshot({ path: join(shots, `audit-${width}-${scheme}.png`), fullPage: true });
      assert.deepEqual(
        [requests.filter((url) => url !== audit && !url.startsWith("data:")), complaints],
        [[], []],
      );
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} px wide`);
      assert.equal(await page.$$eval(".lead li", (all) => all.length), 5);
      const heights = await page.$$eval(".chart svg text", (all) =>
        all.map((each) => each.getBoundingClientRect().height).filter((height) => height > 0),
      );
      assert.ok(heights.length > 100 && Math.min(...heights) > 9, `${Math.min(...heights)} px`);
      const outside = await page.$$eval(".chart svg text", (all) =>
        all
          .filter((each) => {
            const edges = each.closest("svg")?.getBoundingClientRect();
            const { left, right } = each.getBoundingClientRect();
            return edges && (right > edges.right || left < edges.left);
          })
          .map((each) => each.textContent),
      );
      assert.deepEqual(outside, [], "labels outside of their picture");
      const cut = await page.$$eval(".wide", (all) =>
        all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.ariaLabel),
      );
      if (width === 390) assert.deepEqual(cut, [], "tables that scroll on a phone");
      assert.deepEqual(await findings(page, shot), []);
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
  const pages = [index, await href(".about a"), await href("#board th a:text-is('alpha')")];
  await page.goto(pages[2]);
  return [...pages, await href("table a[href*=comparisons]")];
}

console.log(JSON.stringify(await run(chromium, checks, undefined)));
