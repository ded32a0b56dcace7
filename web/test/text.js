// node text.js CHROMIUM PAGE.html: prints the words that a reader sees, with every panel open.

import { pathToFileURL } from "node:url";
import { visit, withBrowser } from "./browser.js";

const [chromium = "", path = ""] = process.argv.slice(2);
const closed = "details:not([open])";

const text = await withBrowser(chromium, async (context) => {
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
  return page.innerText("body");
});
console.log(text);
