// Buttons that copy the table as Markdown, and the chart as a picture.

import { h } from "./dom.js";
import { picture, png } from "./picture.js";

/**
 * @import { Column } from "./columns.js"
 * @import { Row } from "./rows.js"
 */

/**
 * @typedef {{ shown: Column[], sorted: Row[] }} Table
 * @typedef {{ chart: HTMLElement, title: string }} Chart
 */

const NAME = "deadheat.svg";
const SAID_MS = 4000;

/**
 * @param {() => Table} table what the page shows when a button is clicked
 * @param {() => Chart} chart
 */
export function actions(table, chart) {
  const said = h("span", { class: "copied", role: "status" });
  const say = (/** @type {string} */ words) => {
    said.textContent = words;
    setTimeout(() => {
      said.textContent = "";
    }, SAID_MS);
  };
  /** @type {(id: string, words: string, act: () => Promise<string>) => HTMLElement} */
  const button = (id, words, act) =>
    h(
      "button",
      {
        type: "button",
        class: "action",
        id,
        on: { click: () => act().then(say, (error) => say(`This failed: ${error.message}`)) },
      },
      words,
    );
  return h(
    "div",
    { class: "actions" },
    button("copy-markdown", "Copy as Markdown", async () => {
      await copyText(asMarkdown(table()));
      return "Copied.";
    }),
    button("copy-image", "Copy as image", async () => {
      const made = png(picture(chart()));
      await navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
      return "Copied.";
    }),
    button("save-svg", "Save as SVG", async () => {
      save(new Blob([picture(chart())], { type: "image/svg+xml" }));
      return `Saved as ${NAME}.`;
    }),
    said,
  );
}

/** @param {Table} table */
export function asMarkdown({ shown, sorted }) {
  const words = (/** @type {Column} */ column, /** @type {Row} */ row) =>
    column.key === "server" ? row.name : String(column.cell(row));
  return markdown(
    shown.map(({ label }) => label),
    sorted.map((row) => shown.map((column) => words(column, row))),
    shown.map(({ number }) => Boolean(number)),
  );
}

/**
 * To the clipboard; a page without the permission copies from a text field.
 * @param {string} text
 */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error("the browser does not allow copying");
  }
}

/** @param {Blob} blob */
function save(blob) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: NAME }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Punctuation that has a meaning in a cell; a line break would end the row. */
const SPECIAL = /[\\`*_[\]<>|#~&]/g;

/**
 * @param {string[]} header
 * @param {string[][]} rows
 * @param {boolean[]} right whether a column is right-aligned
 */
export function markdown(header, rows, right) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.map(cell).join(" | ")} |`;
  const rule = `| ${right.map((each) => (each ? "---:" : "---")).join(" | ")} |`;
  return `${[line(header), rule, ...rows.map(line)].join("\n")}\n`;
}

/** @param {string} text */
const cell = (text) => text.replace(/\s+/g, " ").trim().replace(SPECIAL, "\\$&");
