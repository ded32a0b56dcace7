// Builds the HTML file that the Python package fills with a run; styles and script are inline.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const here = (/** @type {string} */ path) => new URL(path, import.meta.url);
const PAGE = here("../src/deadheat/report/formats/page.html");

const bundled = await build({
  entryPoints: [here("src/main.js").pathname],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome103", "firefox113", "safari16.4"],
  charset: "ascii",
  legalComments: "none",
  write: false,
});
// "</" inside the script could end the script element.
const script = bundled.outputFiles[0].text.trim().replaceAll("</", "<\\/");
const style = await readFile(here("src/page.css"), "utf8");
const hash = createHash("sha256").update(script).digest("base64");
const template = await readFile(here("src/page.html"), "utf8");
const page = template
  .replace("{script-hash}", () => `'sha256-${hash}'`)
  .replace("{style}", () => style)
  .replace("{script}", () => script);
await writeFile(PAGE, page);
console.log(
  `${PAGE.pathname.split("/").slice(-4).join("/")}: ${Math.round(page.length / 1024)} KiB`,
);
