// Checks of the page in a real browser; each throws when it fails.

import assert from "node:assert/strict";
import { join } from "node:path";
import { findings } from "./axe.js";

/**
 * @import { Page } from "playwright-core"
 * @import { Check } from "./browser.js"
 */

const SCHEMES = /** @type {const} */ (["light", "dark"]);

const texts = (/** @type {Page} */ page, /** @type {string} */ selector) =>
  page.$$eval(selector, (all) => all.map((element) => element.textContent ?? ""));
const text = async (/** @type {Page} */ page, /** @type {string} */ selector) =>
  (await page.textContent(selector)) ?? "";
const servers = (/** @type {Page} */ page) => texts(page, ".ranking tbody th a");

/** @param {Element[]} all */
function setOpen(all) {
  for (const element of all) element.setAttribute("open", "");
}

/** @param {Page} page */
async function openAll(page) {
  await page.$$eval("details.panel", setOpen);
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".panel")].every((element) => element.children.length > 1),
  );
}

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

/**
 * `real`: a stored run of eight servers; `wide`: one of 24, with dead heats; `made`: two levels,
 * workers, rates, hostile text.
 * `many`: 60 servers at three levels; `replay`: one of kzmake-2018; `decay`: a decay study;
 * `unknown`: two servers, one with an interval that is too wide to draw.
 * @type {Record<string, Check<Record<"real" | "wide" | "made" | "many" | "replay" | "decay" | "unknown" | "folder", string>>>}
 */
export const checks = {
  async answers_first(visit, { real }) {
    const { page } = await visit(real);
    const [heading, board, table] = await page.$$eval("h1, .board ol, .ranking tbody", (all) =>
      all.map((element) => element.getBoundingClientRect().top),
    );
    assert.match(await text(page, "h1"), /fastest/);
    assert.match(await text(page, ".open"), /^Open: nothing/);
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
    assert.match(
      await text(page, ".open p"),
      /^Open: java-vertx ~ java-undertow, 46.% \[unknown\]/,
    );
    assert.match(await text(page, ".open p code"), /^deadheat run --more 6m /);
    await page.click(".open summary");
    const others = await texts(page, ".open li");
    assert.equal(others.length, 3);
    assert.match(others[2], /more pairs.*deadheat run /);
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

  async compares_in_charts(visit, { real, made }) {
    const { page } = await visit(real);
    await page.waitForSelector("[aria-labelledby=charts] figure");
    const captions = await texts(page, "[aria-labelledby=charts] figcaption");
    for (const part of ["Latency", "Cost", "Rate over the race", "Ratio to", "controls"])
      assert.ok(
        captions.some((caption) => caption.includes(part)),
        part,
      );
    const two = (await visit(made)).page;
    await two.waitForSelector("[aria-labelledby=charts] figure");
    assert.ok(
      (await texts(two, "[aria-labelledby=charts] figcaption")).includes("Rate by connections"),
    );
  },

  async redraws_only_what_changed(visit, { real }) {
    const { page, complaints } = await visit(real);
    await page.click("#server-0 > summary");
    await page.click("#server-1 > summary");
    await page.fill("#filter-name", "o");
    const parts = ["#filter-name", "#server-0", "#server-1", "#method", ".ranking", ".facts"];
    const same = await page.evaluate(async (selectors) => {
      const packed = document.getElementById("document")?.textContent?.trim() ?? "";
      const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      const report = JSON.parse(await new Response(stream).text());
      const find = () => selectors.map((selector) => document.querySelector(selector));
      const before = find();
      report.contenders[1].levels[0].rate_per_s = 12_345;
      window.deadheat.show(report);
      return find().map((element, i) => element === before[i]);
    }, parts);
    assert.deepEqual(same, [true, true, false, true, false, true]);
    assert.equal(await page.inputValue("#filter-name"), "o");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "filter-name");
    assert.equal(await page.getAttribute("#server-1", "open"), "");
    assert.ok((await texts(page, ".ranking td")).includes("12,345"));
    assert.deepEqual(complaints, []);
  },

  async shows_defects_and_published_figures_of_a_replay(visit, { replay }) {
    const { page } = await visit(replay);
    const headers = await texts(page, ".ranking thead th");
    assert.ok(headers.some((header) => header.startsWith("then")));
    assert.ok(headers.some((header) => header.startsWith("now")));
    const defects = await texts(page, ".defects strong");
    assert.ok(defects.length >= 3, `${defects.length} defects`);
  },

  async labels_lines_and_shows_recovery_of_a_decay(visit, { decay }) {
    const { page } = await visit(decay);
    const captions = await texts(page, "[aria-labelledby=decay] figcaption");
    assert.deepEqual(captions, ["Rate by trial of an instance", "Recovery after each trial"]);
    for (const chart of await page.$$("[aria-labelledby=decay] .chart")) {
      const labels = await chart.$$eval("text", (all) => all.map((each) => each.textContent));
      for (const name of ["java-tomcat-6", "python-fapws"]) assert.ok(labels.includes(name), name);
    }
    const seconds = await texts(page, "[aria-labelledby=decay] figure:last-of-type tbody tr");
    assert.equal(seconds.length, 16);
  },

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

  async opens_panels(visit, { real }) {
    const { page, complaints } = await visit(real);
    for (const summary of await page.$$(".panel > summary")) await summary.click();
    await openAll(page);
    for (const panel of await page.$$(".panel")) {
      assert.ok((await panel.$$eval("svg.chart", (all) => all.length)) >= 2);
      const unexplained = await panel.$$eval(
        "figure",
        (all) => all.filter((element) => !element.querySelector("table, p")).length,
      );
      assert.equal(unexplained, 0, "a chart without its table");
      assert.match((await panel.textContent()) ?? "", /deadheat-load/);
    }
    await page.click(".ranking tbody tr:nth-child(2) th a");
    assert.match(
      await page.evaluate(() => document.activeElement?.textContent ?? ""),
      /java-undertow/,
    );
    assert.deepEqual(complaints, []);
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

  async sends_no_request(visit, { real, made }) {
    for (const address of [real, made]) {
      const { page, requests, complaints } = await visit(address);
      await openAll(page);
      assert.deepEqual(
        requests.filter((url) => url !== address && !url.startsWith("data:")),
        [],
      );
      assert.deepEqual(complaints, []);
      const refused = await page.evaluate(
        () =>
          new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation", (event) =>
              resolve(event.violatedDirective),
            );
            fetch("http://127.0.0.1:9/").catch(() => {});
          }),
      );
      assert.equal(refused, "connect-src");
    }
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

  async shows_hostile_text_as_text(visit, { made }) {
    const { page, complaints } = await visit(made);
    await openAll(page);
    assert.equal(await page.evaluate(() => "taken" in window), false);
    assert.equal(
      await page.$$eval("img, iframe, object, embed, b, marquee", (all) => all.length),
      0,
    );
    assert.equal(await page.$$eval("script", (all) => all.length), 2);
    const main = await text(page, "main");
    for (const shown of [
      '<img src=x onerror="window.taken=1">',
      "'\"><script>window.taken=2</script>",
      "\\u202egnp.exe",
    ]) {
      assert.ok(main.includes(shown), `${shown} is not shown`);
    }
    assert.ok((await servers(page)).some((name) => name.length >= 10_000));
    assert.equal(await page.$$eval("a[href^='javascript']", (all) => all.length), 0);
    assert.deepEqual(complaints, []);
  },
};
