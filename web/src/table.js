// The ranking's table: sorted rows under headers that are buttons.

import { columns, isFastFirst } from "./columns.js";
import { h } from "./dom.js";
import { count } from "./numbers.js";

/**
 * @import { Column } from "./columns.js"
 * @import { Choice } from "./ranking.js"
 * @import { Row } from "./rows.js"
 */

/**
 * @param {Row[]} rows
 * @param {Row[]} kept
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
export function rankingTable(rows, kept, chosen, draw) {
  const shown = columns(rows, chosen);
  const sortedBy = shown.find((column) => column.key === chosen.sort) ?? shown[0];
  const sorted = sort(kept, sortedBy, chosen.descending);
  const inOrder = sortedBy.key === "rank" && !chosen.descending;
  const caption = `Ranking at ${count(chosen.connections ?? 0, "connection")}, sorted by ${sortedBy.key}`;
  return h(
    "table",
    { class: "ranking" },
    h("caption", { class: "visually-hidden" }, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        shown.map((each) => header(each, sortedBy, chosen, draw)),
      ),
    ),
    h(
      "tbody",
      {},
      sorted.map((row, i) =>
        h(
          "tr",
          {
            class:
              [row.ranked ? "" : "unranked", inOrder ? brace(sorted, i) : ""].join(" ").trim() ||
              null,
          },
          shown.map((column) =>
            h(
              column.header ? "th" : "td",
              {
                scope: column.header ? "row" : null,
                class: classesOf(column),
              },
              column.cell(row),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {Column} column */
const classesOf = ({ className, number }) =>
  [className, number ? "number" : ""].filter(Boolean).join(" ") || null;

/**
 * @param {Column} column
 * @param {Column} current
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
function header(column, current, chosen, draw) {
  const active = column === current;
  const order = active ? (chosen.descending ? "descending" : "ascending") : "none";
  const turn = () => {
    chosen.fastFirst = isFastFirst(column.key);
    chosen.descending = active ? !chosen.descending : chosen.fastFirst;
    chosen.sort = column.key;
    draw(`sort-${column.key}`);
  };
  return h(
    "th",
    { scope: "col", class: classesOf(column), "aria-sort": order },
    h(
      "button",
      { type: "button", id: `sort-${column.key}`, title: column.title, on: { click: turn } },
      column.label,
      h(
        "span",
        { class: "arrow", "aria-hidden": "true" },
        active ? (chosen.descending ? "▾" : "▴") : "",
      ),
    ),
  );
}

/**
 * Unknown values come last in both directions.
 * @param {Row[]} rows
 * @param {Column} column
 * @param {boolean} descending
 */
export function sort(rows, column, descending) {
  const direction = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [column.sort(a), column.sort(b)];
    if (x === null || y === null)
      return Number(x === null) - Number(y === null) || a.place - b.place;
    return (
      direction * (typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y)) ||
      a.place - b.place
    );
  });
}

/**
 * Adjacent rows of one group are a dead heat: the classes that draw its brace.
 * @param {Row[]} rows
 * @param {number} i
 */
function brace(rows, i) {
  const group = (/** @type {number} */ j) => (rows[j]?.ranked ? rows[j].standing.group : null);
  if (group(i) === null) return "";
  const [above, below] = [group(i - 1) === group(i), group(i + 1) === group(i)];
  return above || below
    ? `heat ${above ? "" : "heat-first"} ${below ? "" : "heat-last"}`.replace(/ +/g, " ")
    : "";
}
