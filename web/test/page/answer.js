// The headline, the chart of ranks, open pairs, links, and what can be copied.

import assert from "node:assert/strict";
import { join } from "node:path";
import { servers, text, texts } from "./reading.js";

/** @import { PageChecks } from "./reading.js" */

/** @type {PageChecks} */
export const answer = {
  async answers_first(visit, { real }) {
    const { page } = await visit(real);
    const [heading, board, table] = await page.$$eval("h1, .board ol, .ranking tbody", (all) =>
      all.map((element) => element.getBoundingClientRect().top),
    );
    assert.match(await text(page, "h1"), /fastest/);
    assert.match(await text(page, ".open"), /^Open: /);
    assert.ok(heading < board && board < table, "headline, chart, table");
    assert.ok(board < 400, `the chart begins at ${board} px`);
    assert.equal((await texts(page, ".ranking thead th")).length, 6);
  },

  async marks_dead_heats_and_what_is_not_ranked(visit, { wide }) {
    const { page } = await visit(wide);
    const bands = await texts(page, ".band-first .band-label");
    assert.equal(bands[0], "dead heat of 2");
    const reasons = await texts(page, ".unranked .chip");
    assert.equal(reasons.length, 2);
    assert.ok(reasons.every((reason) => reason.startsWith("not ranked: ")));
    assert.equal((await page.$$(".unranked .lane .bar.hatched")).length, 2);
    assert.equal((await page.$$(".row:not(.unranked) .lane .bar.hatched")).length, 0);
  },

  async says_what_is_open_and_what_to_type_next(visit, { wide }) {
    const { page } = await visit(wide);
    assert.match(await text(page, ".open p"), /^Open: server-01 ~ server-00, 0\.1.% \[-/);
    assert.match(await text(page, ".open p code"), /^deadheat resume \S+ --more /);
    await page.click(".open summary");
    const others = await texts(page, ".open li");
    assert.equal(others.length, 2);
    assert.ok(others.every((other) => / ~ .*deadheat (run|resume) /.test(other)));
  },

  async fades_out_an_unknown_interval(visit, { unknown }) {
    const { page } = await visit(unknown);
    const lines = await page.$$eval(".board .interval", (all) =>
      all.map((line) => [line.classList.contains("unknown"), line.getAttribute("stroke-opacity")]),
    );
    assert.ok(lines.length > 2, `${lines.length} parts`);
    assert.ok(lines.every(([fades]) => fades));
    assert.ok(lines.some(([, opacity]) => Number(opacity) < 0.2));
    assert.ok((await texts(page, ".ranking td")).some((cell) => cell.includes("[unknown]")));
  },

  async follows_the_slider(visit, { real }) {
    const { page } = await visit(real);
    const names = () => texts(page, ".board .name");
    const before = await texts(page, ".board .value");
    await page.focus("#own-work");
    await page.keyboard.press("End");
    assert.notDeepEqual(await texts(page, ".board .value"), before);
    assert.match((await texts(page, ".band-label"))[0], /8 servers within 3 %/);
    assert.match(await page.evaluate(() => location.href), /#own=100000$/);
    await page.keyboard.press("Home");
    assert.deepEqual(await texts(page, ".board .value"), before);
    assert.deepEqual(await names(), await servers(page));
  },

  async keeps_choices_in_the_link(visit, { made }) {
    const { page } = await visit(made);
    await page.check("#level-10");
    await page.click("#sort-p99");
    await page.click("#columns summary");
    await page.check("#show-memory");
    await page.fill("#filter-name", "scaled");
    const address = await page.evaluate(() => location.href);
    assert.match(address, /#level=10&sort=p99&name=scaled&columns=.*memory/);
    const again = (await visit(address)).page;
    for (const selector of [".ranking tr", ".board .row"])
      assert.deepEqual(await texts(again, selector), await texts(page, selector));
    assert.equal(await again.isChecked("#level-10"), true);
    await page.evaluate(() => {
      location.hash = "level=100&sort=rate";
    });
    await page.waitForSelector("th[aria-sort=descending] #sort-rate");
    assert.equal(await page.isChecked("#level-100"), true);
    assert.equal(await page.inputValue("#filter-name"), "");
  },

  async starts_several_workloads_with_a_picture(visit, { several }) {
    for (const width of [390, 1280]) {
      const { page } = await visit(several, { width });
      const [picture, board, table] = await page.$$eval(
        ".profile tbody, .board ol, .ranking tbody",
        (all) => all.map((element) => element.getBoundingClientRect().top),
      );
      assert.ok(picture < board && board < table, "picture, chart, table");
      assert.ok(picture < 600, `the picture begins at ${picture} px of ${width}`);
      assert.equal((await page.$$(".profile .fill")).length, 14, "five servers, one lacks one");
      assert.equal(await page.isVisible(".as-table table"), false, "its numbers are folded");
      const cut = await page.$$eval(".profile th", (all) =>
        all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent),
      );
      assert.deepEqual(cut, [], `at ${width} px`);
    }
  },

  async shows_what_transports_cost(visit, { transports, folder }) {
    for (const width of [1280, 390]) {
      const { page } = await visit(transports, { width });
      const tables = await page.$$eval("details.as-table[open]", (all) =>
        all.map((each) => ({
          title: each.querySelector("summary")?.textContent,
          head: [...each.querySelectorAll("thead th")].map((cell) => cell.textContent),
          rows: [...each.querySelectorAll("tbody tr")].map((row) =>
            [...row.children].map((cell) => cell.textContent ?? ""),
          ),
          broken: [...each.querySelectorAll("tbody td")]
            .filter((cell) => getComputedStyle(cell).whiteSpace !== "nowrap")
            .map((cell) => cell.textContent),
          cut: [...each.querySelectorAll("td, th")]
            .filter((cell) => cell.scrollWidth > cell.clientWidth + 1)
            .map((cell) => cell.textContent),
        })),
      );
      assert.deepEqual(
        tables.map(({ title, rows }) => [title, rows.length]),
        [
          ["What hello:https costs beside hello", 17],
          ["What hello:h2 costs beside hello", 16],
        ],
      );
      for (const { title, head, rows, cut, broken } of tables) {
        assert.equal(head.length, 4, title ?? "");
        assert.match(head[1] ?? "", /rate, % of that/);
        assert.deepEqual(cut, [], `${title} at ${width} px`);
        assert.deepEqual(broken, [], "an interval stays on one line");
        const known = rows.filter(([, rate]) => !rate.includes("[unknown]"));
        assert.ok(known.length >= rows.length - 1, "one interval of the race is unknown");
        for (const [name, rate, cpu, p99] of known) {
          assert.match(rate, /^\d+\.\d \[\d+\.\d–\d+\.\d\]$/, name);
          for (const more of [cpu, p99])
            assert.match(more, /^[+-][\d.,]+ \[[+-][\d.,]+, [+-][\d.,]+\]$/, name);
        }
        const rates = known.map(([, rate]) => Number.parseFloat(rate));
        assert.deepEqual(
          rates,
          rates.toSorted((a, b) => b - a),
          "those that lose least come first",
        );
      }
      const whole = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(whole <= width, `the page is ${whole} px wide`);
      const first = await page.$("details.as-table[open]");
      await first?.screenshot({ path: join(folder, `transports-${width}.png`) });
    }
  },

  async copies_markdown_and_a_picture(visit, { real, made }) {
    for (const address of [real, made]) {
      const { page } = await visit(address);
      const drawn = await page.evaluate(() => {
        /** @type {Promise<string>} */
        const saved = new Promise((resolve) => {
          URL.createObjectURL = (blob) => {
            /** @type {Blob} */ (blob).text().then(resolve);
            return "#";
          };
        });
        document.getElementById("save-svg")?.click();
        return saved;
      });
      const rows = (await texts(page, ".board .row")).length;
      const parsed = await page.evaluate((source) => {
        const root = new DOMParser().parseFromString(source, "image/svg+xml");
        return {
          root: root.documentElement.tagName,
          lanes: root.querySelectorAll("svg > svg").length,
          active: root.querySelectorAll("script, foreignObject, image, a").length,
        };
      }, drawn);
      assert.deepEqual(parsed, { root: "svg", lanes: rows + 1, active: 0 });
      await page.evaluate(() => {
        Object.defineProperty(navigator, "clipboard", {
          value: {
            writeText: async (/** @type {string} */ text) => {
              document.title = text;
            },
          },
        });
      });
      await page.click("#copy-markdown");
      await page.waitForSelector(".copied:not(:empty)");
      const lines = (await page.evaluate(() => document.querySelector("title")?.textContent ?? ""))
        .trim()
        .split("\n");
      assert.equal(lines.length, 2 + rows);
      assert.ok(!/[^\\]<script/.test(lines.join("")));
    }
  },
};
