// The first screen: the slider, the chart that follows it, and the table, with their controls.

import { board } from "./board.js";
import { columns, FIRST, isFastFirst, optional, THEN_AND_NOW } from "./columns.js";
import { actions } from "./copy.js";
import { h, scrolling, segments } from "./dom.js";
import { languageColors } from "./language.js";
import { meaning, slider } from "./matter.js";
import { count, integer, percent } from "./numbers.js";
import { comparisons, mainLevel, rowsAt } from "./rows.js";
import { measured, withWork } from "./standing.js";
import { decode, isState } from "./state.js";
import { rankingTable, sort } from "./table.js";

/**
 * @import { ContenderPart, Report } from "../build/document"
 * @import { Row } from "./rows.js"
 */

/**
 * @typedef {object} Choice
 * @property {string} workload
 * @property {number | null} connections
 * @property {string} name
 * @property {string} language
 * @property {string} kind
 * @property {string} sort
 * @property {boolean} descending
 * @property {boolean} fastFirst whether the first order of `sort` is descending
 * @property {number} own_us the reader's own work per request
 * @property {Set<string>} shown columns
 * @property {string | null} comparison
 */

const ANY = "";
const MARGIN = 0.03; // where the run has none

/**
 * The choice before the reader changes something.
 * @param {Report} report
 * @returns {Choice}
 */
export function firstChoice(report) {
  const names = comparisons(report);
  const replayed = names.find((name) => name === report.run.protocol.name);
  return {
    workload: report.run.workloads[0],
    connections: mainLevel(report),
    name: "",
    language: ANY,
    kind: ANY,
    sort: "rank",
    descending: false,
    fastFirst: false,
    own_us: 0,
    shown: new Set(replayed ? [...FIRST, ...THEN_AND_NOW] : FIRST),
    comparison: replayed ?? names[0] ?? null,
  };
}

/**
 * The choice that a fragment of the address holds.
 * @param {Report} report
 * @param {string} fragment
 * @returns {Choice}
 */
export const linkedChoice = (report, fragment) =>
  decode(isState(fragment) ? fragment : "", firstChoice(report), isFastFirst);

/**
 * What the controls offer: while it stays, they stay.
 * @param {Report} report
 */
export const controlsOf = (report) => ({
  levels: report.levels.map(({ connections }) => connections),
  names: comparisons(report),
  servers: report.contenders.map(({ name, language, kind, role }) => [name, language, kind, role]),
  columns: report.levels.map(({ connections }) =>
    offeredKeys(rowsAt(report, connections), connections),
  ),
});

/**
 * The section, and a function that shows another report with the same controls. `chosen` is changed
 * in place; `onLevel` is called when its level changes, `onRows` with the report and the rows that
 * pass the filters each time that they are drawn, and `onChoice` after any other choice.
 * @param {Report} first
 * @param {Choice} chosen
 * @param {() => void} onLevel
 * @param {(report: Report, kept: Row[]) => void} onRows
 * @param {() => void} onChoice
 */
export function ranking(first, chosen, onLevel, onRows, onChoice) {
  let report = first;
  let rows = rowsAt(report, chosen.connections);
  const colors = languageColors(report);
  const levelNow = () =>
    report.levels.find(({ connections }) => connections === chosen.connections);
  const status = h("p", { class: "status", role: "status" });
  const said = h("p", { class: "said", "aria-live": "polite" });
  const chart = h("div", { class: "chart-holder" });
  const holder = scrolling("Ranking");
  const kept = () => rows.filter((row) => passes(row, chosen));
  const drawChart = () => {
    const work = chosen.own_us > 0;
    const margin = levelNow()?.margin ?? MARGIN;
    const close = percent(margin).replace(".0 ", " ");
    const entries = work ? withWork(rows, chosen.own_us, margin) : measured(rows);
    said.replaceChildren(...meaning(rows, entries, chosen.own_us, close));
    const band = (/** @type {number} */ number) =>
      work ? `${number} servers within ${close} of the best` : `dead heat of ${number}`;
    const shown = entries.filter(({ row }) => passes(row, chosen));
    chart.replaceChildren(board(shown, { colors, work, band }));
  };
  const pausing = h("ul", { class: "pauses" });
  const redraw = () => {
    const passing = kept();
    const paused = passing.filter(({ standing }) => standing.pauses);
    const sentences = paused.map(({ name, standing }) => `‖ ${name} ${standing.pauses?.text}.`);
    pausing.replaceChildren(...sentences.map((text) => h("li", { dir: "auto" }, text)));
    pausing.hidden = !sentences.length;
    holder.replaceChildren(rankingTable(rows, passing, chosen, draw));
    drawChart();
    status.textContent =
      passing.length === rows.length
        ? count(rows.length, "server")
        : `${passing.length} of ${count(rows.length, "server")} shown`;
    onRows(report, passing);
  };
  const draw = (/** @type {string | undefined} */ focus = undefined) => {
    redraw();
    if (focus) document.getElementById(focus)?.focus();
    onChoice();
  };
  const work = (/** @type {number} */ own_us) => {
    chosen.own_us = own_us;
    drawChart();
    onChoice();
  };
  const table = () => {
    const shown = columns(rows, chosen);
    const by = shown.find(({ key }) => key === chosen.sort) ?? shown[0];
    return { shown, sorted: sort(kept(), by, chosen.descending) };
  };
  const element = h(
    "section",
    { "aria-labelledby": "ranking" },
    h("h2", { id: "ranking", class: "visually-hidden" }, "Ranking"),
    controls(report, chosen, draw, onLevel),
    rows.filter((row) => row.rate).length > 1 ? [slider(chosen.own_us, work), said] : null,
    rows.length > 1 ? chart : null,
    h(
      "div",
      { class: "table-controls" },
      columnChoice(report, rows, chosen, draw),
      actions(table, () => ({ chart, title: levelNow() ? `${levelNow()?.answer}.` : "" })),
    ),
    holder,
    pausing,
    status,
  );
  const update = (/** @type {Report} */ next) => {
    report = next;
    rows = rowsAt(report, chosen.connections);
    redraw();
  };
  return { element, update };
}

/**
 * @param {Row[]} rows
 * @param {number | null} connections
 */
const offeredKeys = (rows, connections) => [
  optional(rows, { comparison: null, connections }).map(({ key }) => key),
  rows.filter((row) => row.rate).length > 1,
];

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
  );
}

/**
 * @param {Report} report
 * @param {Choice} chosen
 * @param {() => void} onLevel
 */
function levels(report, chosen, onLevel) {
  if (report.levels.length < 2) return null;
  return segments(
    "Connections",
    "level",
    report.levels.map(({ connections }) => ({
      value: connections,
      id: `level-${connections}`,
      text: integer(connections),
    })),
    chosen.connections,
    (connections) => {
      chosen.connections = connections;
      onLevel();
    },
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
 * The columns behind "Columns": one box for each.
 * @param {Report} report
 * @param {Row[]} rows
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
function columnChoice(report, rows, chosen, draw) {
  const boxes = optional(rows, chosen).map(({ key, label }) =>
    h(
      "label",
      {},
      h("input", {
        type: "checkbox",
        id: `show-${key}`,
        checked: chosen.shown.has(key),
        on: {
          change: (event) => {
            if (event.target.checked) chosen.shown.add(key);
            else chosen.shown.delete(key);
            draw();
          },
        },
      }),
      label.replace(/\n/g, " "),
    ),
  );
  return h(
    "details",
    { class: "columns", id: "columns" },
    h("summary", {}, "Columns"),
    h(
      "fieldset",
      {},
      h("legend", { class: "visually-hidden" }, "Columns"),
      boxes,
      comparisonChoice(report, chosen, draw),
    ),
  );
}

/**
 * @param {Report} report
 * @param {Choice} chosen
 * @param {(focus?: string) => void} draw
 */
function comparisonChoice(report, chosen, draw) {
  const names = comparisons(report);
  if (names.length < 2) return null;
  const change = (/** @type {any} */ event) => {
    chosen.comparison = event.target.value;
    for (const key of THEN_AND_NOW) {
      chosen.shown.add(key);
      /** @type {HTMLInputElement} */ (document.getElementById(`show-${key}`)).checked = true;
    }
    draw();
  };
  const select = h(
    "select",
    { id: "comparison", on: { change } },
    names.map((name) => h("option", { value: name }, name)),
  );
  select.value = chosen.comparison ?? "";
  return h("label", {}, "then: ", select);
}

/**
 * @param {ContenderPart[]} contenders
 * @param {"language" | "kind"} key
 * @returns {string[]}
 */
function values(contenders, key) {
  return [...new Set(contenders.flatMap((contender) => contender[key] ?? []))].sort();
}
