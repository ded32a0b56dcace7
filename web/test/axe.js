// axe-core's serious findings on a page, light and dark.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const GRAVE = ["serious", "critical"];

/** What is seriously wrong, a line each; `look` is called with each scheme while it shows. */
export async function findings(page, look = () => {}) {
  // axe is put there by the test: through the debugger, which the page's policy does not bind.
  await page.evaluate(AXE);
  const found = [];
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    await look(scheme);
    // Of the rules, a scheme changes the one of contrast: the others have been applied.
    const options = {
      resultTypes: ["violations"],
      ...(scheme === "dark" ? { runOnly: ["color-contrast"] } : {}),
    };
    const { violations } = await page.evaluate((given) => window.axe.run(given), options);
    found.push(
      ...violations
        .filter(({ impact }) => GRAVE.includes(impact))
        .map(({ id, nodes }) => `${scheme}: ${id}: ${nodes[0].html.slice(0, 200)}`),
    );
  }
  return found;
}
