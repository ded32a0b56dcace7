// The table of the page as Markdown.

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
