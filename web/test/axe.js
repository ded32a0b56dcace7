// The serious findings of axe-core on a page, in light and dark.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

/**
 * @import { AxeResults } from "axe-core"
 * @import { Page } from "playwright-core"
 */

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const GRAVE = ["serious", "critical"];

/**
 * Serious findings, one line each; `look` is called with each scheme while it shows.
 * @param {Page} page
 * @param {(scheme: string) => Promise<unknown>} look
 */
export async function findings(page, look = async () => {}) {
  // The debugger adds axe to the page: its policy does not bind the debugger.
  await page.evaluate(AXE);
  const lines = [];
  for (const scheme of /** @type {const} */ (["light", "dark"])) {
    await page.emulateMedia({ colorScheme: scheme });
    await look(scheme);
    // The scheme affects only the rule of contrast; the others have been applied in light.
    const options = {
      resultTypes: ["violations"],
      ...(scheme === "dark" ? { runOnly: ["color-contrast"] } : {}),
    };
    /** @type {AxeResults} */
    const { violations } = await page.evaluate(`axe.run(${JSON.stringify(options)})`);
    lines.push(
      ...violations
        .filter(({ impact }) => GRAVE.includes(impact ?? ""))
        .map(({ id, nodes }) => `${scheme}: ${id}: ${nodes[0].html.slice(0, 200)}`),
    );
  }
  return lines;
}
