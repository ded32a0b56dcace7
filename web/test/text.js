// node text.js CHROMIUM PAGE.html...: prints the words that a reader sees of each page, with every
// panel open, as a list in JSON.

import { pathToFileURL } from "node:url";
import { visit, withBrowser } from "./browser.js";

const [chromium = "", ...paths] = process.argv.slice(2);
const closed = "details:not([open])";

const texts = await withBrowser(chromium, async (context) => {
  const shown = [];
  for (const path of paths) {
    const { page } = await visit(context, pathToFileURL(path).href);
    while ((await page.$(closed)) !== null) {
      await page.$$eval(closed, (panels) => {
        for (const panel of panels) panel.setAttribute("open", "");
      });
      // A panel is filled when it opens, and holds more that is closed.
      await page.waitForFunction(() =>
        [...document.querySelectorAll(".panel")].every((panel) => panel.children.length > 1),
      );
    }
    shown.push(await page.innerText("body"));
  }
  return shown;
});
console.log(JSON.stringify(texts));
