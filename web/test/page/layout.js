// How the page looks: on paper, on a phone, in the dark, and to a screen reader.

import assert from "node:assert/strict";
import { join } from "node:path";
import { findings } from "../axe.js";
import { openAll, setOpen } from "./reading.js";

/** @import { PageChecks } from "./reading.js" */

const SCHEMES = /** @type {const} */ (["light", "dark"]);

/**
 * The axes whose tick labels overlap.
 * @param {Element[]} charts
 */
function touching(charts) {
  const apart = (/** @type {DOMRect} */ a, /** @type {DOMRect} */ b) =>
    a.right < b.left || b.right < a.left || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
  return charts
    .flatMap((chart) =>
      chart.matches(".chart") ? [...chart.querySelectorAll("g[data-part*='tick label']")] : [chart],
    )
    .filter((axis) => {
      const boxes = [...axis.querySelectorAll("text")].map((element) =>
        element.getBoundingClientRect(),
      );
      return !boxes.slice(1).every((box, i) => apart(box, boxes[i]));
    })
    .map((axis) => axis.textContent);
}

/**
 * Labels outside their chart, as the decay chart once had.
 * @param {Element[]} charts
 */
function outside(charts) {
  return charts.flatMap((chart) => {
    const frame = chart.getBoundingClientRect();
    const within = (/** @type {DOMRect} */ { left, right, top, bottom }) =>
      left >= frame.left - 1 &&
      right <= frame.right + 1 &&
      top >= frame.top - 1 &&
      bottom <= frame.bottom + 1;
    return [...chart.querySelectorAll("text")]
      .filter((element) => !within(element.getBoundingClientRect()))
      .map((element) => element.textContent);
  });
}

/** @type {PageChecks} */
export const layout = {
  async prints_everything_that_shows(visit, { real, folder }) {
    const { page } = await visit(real);
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 720, height: 1000 });
    for (const hidden of [".controls", ".table-controls", ".slider"])
      assert.equal(await page.isVisible(hidden), false, hidden);
    for (const shown of ["h1", ".board", ".ranking", ".chart", "#method"])
      assert.equal(await page.isVisible(shown), true, shown);
    const cut = await page.$$eval(".board .value, .ranking td", (all) =>
      all
        .filter((each) => each.getBoundingClientRect().right > 720)
        .map((each) => each.textContent),
    );
    assert.deepEqual(cut, []);
    await page.pdf({ path: join(folder, "page.pdf") });
  },

  async passes_axe(visit, { real, made }) {
    for (const address of [real, made]) {
      const { page } = await visit(address);
      await page.click("#server-0 > summary");
      await page.$$eval("#server-0 details", setOpen);
      assert.deepEqual(await findings(page), []);
    }
  },

  async is_readable_in_light_and_dark(visit, { real, folder }) {
    const grounds = [];
    const { page } = await visit(real);
    await page.click("#server-0 > summary");
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.screenshot({ path: join(folder, `${scheme}.png`), fullPage: true });
      grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    }
    assert.notEqual(grounds[0], grounds[1]);
  },

  async fits_a_phone(visit, { real, wide, made, folder }) {
    for (const [name, address] of Object.entries({ real, wide, made })) {
      const { page } = await visit(address, { width: 390 });
      await openAll(page);
      await page.screenshot({ path: join(folder, `phone-${name}.png`) });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${name} is ${width} px wide`);
      const cut = await page.$$eval(".board .value, .board .rank", (all) =>
        all
          .filter((each) => {
            const { left, right } = each.getBoundingClientRect();
            return left < 0 || right > 390;
          })
          .map((each) => each.textContent),
      );
      assert.deepEqual(cut, [], `${name} is cut off`);
      const below = await page.$$eval(".board .row", (all) =>
        all.every((row) => {
          const [lane, link] = [".lane", ".name"].map((part) =>
            /** @type {Element} */ (row.querySelector(part)).getBoundingClientRect(),
          );
          return lane.top >= link.bottom - 1;
        }),
      );
      assert.ok(below, `${name}: a bar beside its name`);
    }
  },

  async keeps_labels_apart(visit, { real, made }) {
    /** @type {[string, number][]} */
    const views = [
      [real, 390],
      [real, 1280],
      [made, 390],
      [made, 1280],
    ];
    for (const [address, width] of views) {
      const { page } = await visit(address, { width });
      await openAll(page);
      assert.deepEqual(await page.$$eval("svg.chart, .axis svg", touching), [], `at ${width} px`);
      assert.deepEqual(await page.$$eval("svg.chart", outside), [], `at ${width} px`);
    }
  },
};
