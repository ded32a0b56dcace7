// The page sends no request, and shows names as text.

import assert from "node:assert/strict";
import { refusedBy } from "../browser.js";
import { openAll, servers, text } from "./reading.js";

/** @import { PageChecks } from "./reading.js" */

/** @type {PageChecks} */
export const safety = {
  async sends_no_request(visit, { real, made }) {
    for (const address of [real, made]) {
      const { page, requests, complaints } = await visit(address);
      await openAll(page);
      assert.deepEqual(
        requests.filter((url) => url !== address && !url.startsWith("data:")),
        [],
      );
      assert.deepEqual(complaints, []);
      assert.equal(await refusedBy(page, "http://127.0.0.1:9/"), "connect-src");
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
