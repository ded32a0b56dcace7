// Charts, panels of servers, and what replays and decay studies add.

import assert from "node:assert/strict";
import { openAll, reportOf, texts } from "./reading.js";

/** @import { PageChecks } from "./reading.js" */

/** @type {PageChecks} */
export const details = {
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

  async bug_servers_without_a_rate_left_the_page_as_text(visit, { made }) {
    const { page, complaints } = await visit(made);
    const report = await reportOf(page);
    for (const level of report.levels)
      for (const { points } of level.scaling) for (const point of points) point.rate_per_s = null;
    await page.evaluate((changed) => window.deadheat.show(changed), report);
    assert.deepEqual(await texts(page, "[aria-labelledby=scaling] figure"), []);
    assert.equal((await page.$$("[aria-labelledby=scaling]")).length, 1);
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
};
