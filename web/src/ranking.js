// The ranking: a table that sorts and filters, and its controls.

import { columns, GROUPS } from "./columns.js";
import { h, scrolling } from "./dom.js";
import { count } from "./format.js";
import { comparisons, mainLevel, rowsAt } from "./rows.js";

/**
 * @import { Contender, Report } from "../build/document"
 * @import { Column } from "./columns.js"
 * @import { Row } from "./rows.js"
 */

/**
 * @typedef {object} Choice
 * @property {number | null} connections
 * @property {string} name
 * @property {string} language
 * @property {string} kind
 * @property {string} sort
 * @property {boolean} descending
 * @property {Set<string>} shown
 * @property {string | null} comparison
 */

const ANY = "";

/**
 * The reader's initial choice; it stays when a new document is shown.
 * @param {Report} report
 * @returns {Choice}
 */
export function firstChoice(report) {
  const wide = matchMedia("(min-width: 60rem)").matches;
  const names = comparisons(report);
  return {
    connections: mainLevel(report),
    name: "",
    language: ANY,
    kind: ANY,
    sort: "rank",
    descending: false,
    shown: new Set(wide ? ["times", "cost"] : []),
    comparison: names.find((name) => name === report.run.protocol.name) ?? names[0] ?? null,
  };
}

/**
 * The section. `chosen` is changed in place; `onLevel` is called when its level changes.
 * @param {Report} report
 * @param {Choice} chosen
 * @param {() => void} onLevel
 */
export function ranking(report, chosen, onLevel) {
  const status = h("p", { class: "status", role: "status" });
  const holder = scrolling("Ranking");
  const draw = (/** @type {string | undefined} */ focus = undefined) => {
    const rows = rowsAt(report, chosen.connections);
    const kept = rows.filter((row) => passes(row, chosen));
    holder.replaceChildren(table(rows, kept, chosen, draw));
    status.textContent =
      kept.length === rows.length
        ? count(rows.length, "server")
        : `${kept.length} of ${count(rows.length, "server")} shown`;
    if (focus) document.getElementById(focus)?.focus();
  };
  draw();
  return h(
    "section",
    { "aria-labelledby": "ranking" },
    h("h2", { id: "ranking", class: "visually-hidden" }, "Ranking"),
    controls(report, chosen, draw, onLevel),
    holder,
    status,
  );
}

/**
 * @param {Row} row
 * @param {Choice} chosen
 */
function passes({ contender, name }, chosen) {
  const wanted = chosen.name.trim().toLowerCase();
  return (
    (chosen.language === ANY || contender.language === chosen.language) &&
    (chosen.kind === ANY || contender.kind === chosen.kind) &&
    [name, contender.name, contender.framework ?? ""].some((text) =>
      text.toLowerCase().includes(wanted),
    )
  );
}

/**
 * @param {Report} report
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 * @param {() => void} onLevel
 */
function controls(report, chosen, draw, onLevel) {
  const ranked = report.contenders.filter((contender) => contender.role === "contender");
  return h(
    "form",
    { class: "controls", on: { submit: (event) => event.preventDefault() } },
    levels(report, chosen, onLevel),
    h(
      "label",
      {},
      "Name ",
      h("input", {
        id: "filter-name",
        type: "search",
        value: chosen.name,
        autocomplete: "off",
        spellcheck: "false",
        on: {
          input: (event) => {
            chosen.name = event.target.value;
            draw();
          },
        },
      }),
    ),
    choice("Language", "language", values(ranked, "language"), chosen, draw),
    choice("Kind", "kind", values(ranked, "kind"), chosen, draw),
    groups(report, chosen, draw),
  );
}

/**
 * @param {Report} report
 * @param {Choice} chosen
 * @param {() => void} onLevel
 */
function levels(report, chosen, onLevel) {
  if (report.levels.length < 2) return null;
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", {}, "Connections"),
    report.levels.map(({ connections }) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: "level",
          id: `level-${connections}`,
          value: connections,
          checked: connections === chosen.connections,
          on: {
            change: () => {
              chosen.connections = connections;
              onLevel();
            },
          },
        }),
        h("span", {}, connections.toLocaleString("en-US")),
      ),
    ),
  );
}

/**
 * @param {string} label
 * @param {"language" | "kind"} key
 * @param {string[]} options
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
function choice(label, key, options, chosen, draw) {
  if (options.length < 2) return null;
  const select = h(
    "select",
    {
      id: `filter-${key}`,
      on: {
        change: (event) => {
          chosen[key] = event.target.value;
          draw();
        },
      },
    },
    h("option", { value: ANY }, "all"),
    options.map((text) => h("option", { value: text }, text)),
  );
  select.value = chosen[key];
  return h("label", {}, `${label} `, select);
}

/**
 * @param {Report} report
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
function groups(report, chosen, draw) {
  const names = comparisons(report);
  const offered = Object.entries(GROUPS).filter(([group]) => group !== "published" || names.length);
  const box = (/** @type {[string, string]} */ [group, label]) =>
    h(
      "label",
      {},
      h("input", {
        type: "checkbox",
        id: `show-${group}`,
        checked: chosen.shown.has(group),
        on: {
          change: (event) => {
            if (event.target.checked) chosen.shown.add(group);
            else chosen.shown.delete(group);
            draw();
          },
        },
      }),
      label,
    );
  const select =
    names.length > 1
      ? h(
          "select",
          {
            id: "comparison",
            "aria-label": "Published comparison",
            on: {
              change: (event) => {
                chosen.comparison = event.target.value;
                chosen.shown.add("published");
                /** @type {HTMLInputElement} */ (
                  document.getElementById("show-published")
                ).checked = true;
                draw();
              },
            },
          },
          names.map((name) => h("option", { value: name }, name)),
        )
      : null;
  if (select) select.value = chosen.comparison ?? "";
  return h("fieldset", {}, h("legend", {}, "Columns"), offered.map(box), select);
}

/**
 * @param {Contender[]} contenders
 * @param {"language" | "kind"} key
 * @returns {string[]}
 */
function values(contenders, key) {
  return [...new Set(contenders.flatMap((contender) => contender[key] ?? []))].sort();
}

/**
 * @param {Row[]} rows
 * @param {Row[]} kept
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
function table(rows, kept, chosen, draw) {
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
                class:
                  [column.className, column.number ? "number" : ""].filter(Boolean).join(" ") ||
                  null,
              },
              column.cell(row),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {Column} column
 * @param {Column} current
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
function header(column, current, chosen, draw) {
  const className =
    [column.className, column.number ? "number" : ""].filter(Boolean).join(" ") || null;
  if (!column.sort) return h("th", { scope: "col", class: className }, column.label);
  const active = column === current;
  const order = active ? (chosen.descending ? "descending" : "ascending") : "none";
  const turn = () => {
    chosen.descending = active ? !chosen.descending : Boolean(column.fastFirst);
    chosen.sort = column.key;
    draw(`sort-${column.key}`);
  };
  return h(
    "th",
    { scope: "col", class: className, "aria-sort": order },
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
function sort(rows, column, descending) {
  const direction = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [column.sort?.(a) ?? null, column.sort?.(b) ?? null];
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
