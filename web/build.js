// Builds the HTML file that the Python package fills with a run; styles and script are inline.

import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
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
  metafile: true,
  write: false,
});

/** The licenses of the packages in the bundle, each text once: name, version and text. */
async function licenses(/** @type {string[]} */ inputs) {
  const packages = new Set(
    inputs.flatMap((path) => path.match(/node_modules\/(@[^/]+\/[^/]+|[^/]+)/)?.[1] ?? []),
  );
  /** @type {Map<string, string[]>} */
  const namesByText = new Map();
  for (const name of [...packages].sort()) {
    const folder = here(`node_modules/${name}/`);
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const { version, license } = JSON.parse(
      await readFile(new URL("package.json", folder), "utf8"),
    );
    const text = file
      ? (await readFile(new URL(file, folder), "utf8")).trim()
      : `License: ${license}`;
    namesByText.set(text, [...(namesByText.get(text) ?? []), `${name} ${version}`]);
  }
  return [...namesByText].map(([text, names]) => `${names.join(", ")}\n\n${text}`).join("\n\n\n");
}

// "</" inside the script could end the script element.
const script = bundled.outputFiles[0].text.trim().replaceAll("</", "<\\/");
const style = await readFile(here("src/page.css"), "utf8");
const hash = createHash("sha256").update(script).digest("base64");
const notice = (await licenses(Object.keys(bundled.metafile.inputs))).replaceAll("--", "- -");
const template = await readFile(here("src/page.html"), "utf8");
const page = template
  .replace("{script-hash}", () => `'sha256-${hash}'`)
  .replace("{style}", () => style)
  .replace("{licenses}", () => notice)
  .replace("{script}", () => script);
await writeFile(PAGE, page);
console.log(
  `${PAGE.pathname.split("/").slice(-4).join("/")}: ${Math.round(page.length / 1024)} KiB`,
);
