// node run.js CHROMIUM REAL.html MADE.html FOLDER: prints { check: null | what is wrong } as JSON.

import { pathToFileURL } from "node:url";
import { withBrowser } from "./browser.js";
import { checks } from "./checks.js";

const [chromium, real, made, folder] = process.argv.slice(2);
const address = (path) => pathToFileURL(path).href;

const outcomes = await withBrowser(chromium, async (context) => {
  const found = {};
  for (const [name, check] of Object.entries(checks)) {
    found[name] = await check({ context, real: address(real), made: address(made), folder }).then(
      () => null,
      (error) => error.stack,
    );
    await Promise.all(
      context
        .pages()
        .slice(1)
        .map((page) => page.close()),
    );
  }
  return found;
});
console.log(JSON.stringify(outcomes));
