// The table of ranks: order, filters, columns.

import assert from "node:assert/strict";
import { servers, text, texts } from "./reading.js";

/** @import { PageChecks } from "./reading.js" */

/** @type {PageChecks} */
export const table = {
  async compares_sixty_servers_at_three_levels(visit, { many }) {
    const { page, complaints } = await visit(many);
    for (const level of [10, 100, 1000]) {
      await page.check(`#level-${level}`);
      assert.equal((await servers(page)).length, 60);
      assert.equal((await texts(page, ".board .row")).length, 60);
    }
    const colors = await page.$$eval(".board .row", (all) =>
      all.map((row) => {
        const language = row.querySelector(".language")?.textContent;
        return `${language}: ${getComputedStyle(row).getPropertyValue("--bar")}`;
      }),
    );
    assert.equal(new Set(colors).size, 12, "a color for each language");
    assert.equal(new Set(colors.map((each) => each.split(": ")[1])).size, 12, "a shared color");
    assert.deepEqual(complaints, []);
  },

  async sorts(visit, { real }) {
    const { page } = await visit(real);
    const first = await servers(page);
    assert.equal(await page.getAttribute("th:has(#sort-rank)", "aria-sort"), "ascending");
    await page.click("#sort-rate");
    assert.equal(await page.getAttribute("th:has(#sort-rate)", "aria-sort"), "descending");
    assert.equal(await page.getAttribute("th:has(#sort-rank)", "aria-sort"), "none");
    const rates = (await texts(page, ".ranking tbody td:nth-child(3)")).map((text) =>
      Number(text.replace(/[(),]/g, "")),
    );
    assert.deepEqual(
      rates,
      [...rates].sort((a, b) => b - a),
    );
    await page.click("#sort-server");
    const named = await servers(page);
    assert.deepEqual(
      named,
      [...first].sort((a, b) => a.localeCompare(b)),
    );
    await page.click("#sort-server");
    assert.deepEqual(await servers(page), named.reverse());
    await page.click("#sort-rank");
    assert.deepEqual(await servers(page), first);
  },

  async filters(visit, { real }) {
    const { page } = await visit(real);
    await page.fill("#filter-name", "GIN");
    assert.deepEqual(await servers(page), ["go-gin"]);
    assert.match(await text(page, "section > .status"), /1 of 8 servers/);
    await page.fill("#filter-name", "");
    await page.selectOption("#filter-language", "Python");
    assert.ok((await servers(page)).every((name) => name.startsWith("python-")));
    await page.selectOption("#filter-language", "");
    await page.selectOption("#filter-kind", { index: 1 });
    const kept = (await servers(page)).length;
    assert.ok(kept > 0 && kept < 8, `${kept} servers of the first kind`);
  },

  async chooses_columns_and_level(visit, { made }) {
    const { page } = await visit(made);
    await page.click("#columns summary");
    const columns = (await texts(page, ".ranking thead th")).length;
    await page.uncheck("#show-cpu");
    assert.equal((await texts(page, ".ranking thead th")).length, columns - 1);
    await page.check("#show-then-rank");
    assert.ok((await texts(page, ".ranking tbody td")).includes("9 of 33"));
    const before = await texts(page, ".ranking tbody tr");
    await page.check("#level-10");
    assert.notDeepEqual(await texts(page, ".ranking tbody tr"), before);
    assert.match(await text(page, ".ranking caption"), /at 10 connections/);
    assert.equal(await page.isChecked("#show-cpu"), false);
  },

  async works_by_keyboard(visit, { real }) {
    const { page } = await visit(real);
    await page.focus("#sort-rate");
    await page.keyboard.press("Enter");
    assert.equal(await page.getAttribute("th:has(#sort-rate)", "aria-sort"), "descending");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "sort-rate");
    await page.focus("#server-0 > summary");
    await page.keyboard.press("Space");
    assert.equal(await page.getAttribute("#server-0", "open"), "");
    const said = await page.textContent(".said");
    await page.focus("#own-work");
    await page.keyboard.press("End");
    assert.notEqual(await page.textContent(".said"), said);
    assert.ok(await page.getAttribute("#own-work", "aria-valuetext"));
  },
};
