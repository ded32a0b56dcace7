// The ranking's columns: what a cell shows, and what it sorts by.

import { h } from "./dom.js";
import * as format from "./format.js";
import { published } from "./rows.js";
import { whisker, whiskerAxis } from "./whisker.js";

/**
 * @import { Contender, Latency } from "../build/document"
 * @import { Child } from "./dom.js"
 * @import { Choice } from "./ranking.js"
 * @import { Row } from "./rows.js"
 * @import { Scale } from "./whisker.js"
 */

/**
 * @typedef {(row: Row) => string | number | null} Sort
 * @typedef {(row: Row) => Child} Cell
 * @typedef {object} Column
 * @property {string} key
 * @property {string} [group] its key in GROUPS; without one it is always shown
 * @property {Child} label
 * @property {string} [title]
 * @property {Sort} [sort]
 * @property {boolean} [fastFirst] the first click sorts in descending order
 * @property {Cell} cell
 * @property {string} [className]
 * @property {boolean} [header]
 * @property {boolean} [number]
 */

/** The groups of columns that a reader can show and hide. */
export const GROUPS = {
  times: "Times",
  cost: "Cost",
  published: "Published rates",
};

/**
 * The columns for the rows of one level; `shown` holds the visible groups.
 * @param {Row[]} rows
 * @param {Choice} choice
 * @returns {Column[]}
 */
export function columns(rows, { shown, comparison, connections }) {
  const all = [...order(rows), ...times(rows), ...cost(), ...thenAndNow(comparison, connections)];
  return all.filter((column) => column.group === undefined || shown.has(column.group));
}

/**
 * @param {Row[]} rows
 * @returns {Column[]}
 */
function order(rows) {
  const scale = whiskerScale(rows);
  return [
    {
      key: "rank",
      label: "rank",
      title: "An interval where several places are possible. Braced rows are a dead heat.",
      sort: (row) => (row.ranked ? row.place : null),
      cell: (row) => format.rank(row.standing),
      className: "rank",
    },
    {
      key: "server",
      label: "server",
      sort: (row) => row.name.toLowerCase(),
      cell: (row) =>
        server(
          row,
          rows.some((other) => other.ranked),
        ),
      className: "server",
      header: true,
    },
    {
      key: "rate",
      label: "requests/s",
      title: "In brackets: no trial was valid, so it is not ranked.",
      sort: (row) => row.rate,
      fastFirst: true,
      cell: (row) =>
        row.cell?.doubtful && row.rate !== null
          ? `(${format.rate(row.rate)})`
          : format.rate(row.rate),
      number: true,
    },
    {
      key: "ratio",
      label: "% of the\nfastest",
      title: "Ratio of the rates within blocks, with its confidence interval.",
      sort: (row) => row.standing.ratio_to_leader?.ratio ?? null,
      fastFirst: true,
      cell: (row) => format.ofLeader(row.standing.ratio_to_leader, row.ranked),
      className: "ratio",
    },
    {
      key: "whisker",
      label: whiskerAxis(scale),
      cell: (row) => whisker(row, scale),
      className: "whisker",
    },
  ];
}

/**
 * The leader's rate, and the largest ratio to it that a bar shows.
 * @param {Row[]} rows
 * @returns {Scale}
 */
function whiskerScale(rows) {
  const leader =
    rows.find((row) => row.standing.ratio_to_leader?.ratio === 1)?.rate ??
    Math.max(1, ...rows.map((row) => row.rate ?? 0));
  const ends = rows.map((row) =>
    row.ranked && row.standing.ratio_to_leader && format.isKnown(row.standing.ratio_to_leader)
      ? Math.min(row.standing.ratio_to_leader.high ?? 1, 2)
      : (row.standing.ratio_to_leader?.ratio ?? (row.rate ?? 0) / leader),
  );
  return { leader, most: Math.max(1, ...ends) };
}

/**
 * The reason for a missing rank is shown where other rows have one or no trial is valid.
 * @param {Row} row
 * @param {boolean} ranks
 */
function server(row, ranks) {
  const { contender, standing, panel } = row;
  const details = [contender.language, contender.version].filter(Boolean).join(" · ");
  return [
    h("a", { class: "clamp", href: `#${panel}`, dir: "auto" }, row.name),
    details ? h("span", { class: "details", dir: "auto", title: details }, details) : null,
    row.ranked || (row.valid && !ranks)
      ? null
      : h(
          "span",
          { class: "why", title: standing.reason },
          `not ranked: ${standing.reason ?? "reason not recorded"}`,
        ),
  ];
}

/**
 * @param {Row[]} rows
 * @returns {Column[]}
 */
function times(rows) {
  /**
   * @param {keyof typeof TIMES} group
   * @param {"p50" | "p99"} name
   * @param {string} noun
   * @returns {Column}
   */
  const quantile = (group, name, noun) => ({
    key: `${group}-${name}`,
    group: "times",
    label: `${noun}\n${name}, ms`,
    title: TIMES[group],
    sort: (row) => row[group][`${name}_us`],
    cell: (row) => format.milliseconds(row[group][`${name}_us`]),
    number: true,
  });
  /** @type {(group: keyof typeof TIMES, noun: string) => Column[]} */
  const pair = (group, noun) =>
    rows.some((row) => row[group].p50_us !== null)
      ? [quantile(group, "p50", noun), quantile(group, "p99", noun)]
      : [];
  return [
    ...pair("response", "response"),
    ...pair("service", "service"),
    ...pair("firstByte", "first byte"),
  ];
}

const TIMES = {
  response: "From the time a request was due, at a fixed offered rate (open loop).",
  service: "From sending a request to its last byte, at full load (closed loop).",
  firstByte: "From sending a request to the first byte of its response.",
};

/** @returns {Column[]} */
function cost() {
  /** @type {(key: string, label: string, title: string, sort: Sort, cell: Cell) => Column} */
  const column = (key, label, title, sort, cell) => ({
    key,
    group: "cost",
    label,
    title,
    sort,
    cell,
    number: true,
  });
  return [
    column(
      "cpu",
      "CPU\nµs/request",
      "CPU time of the server's process tree, for each request.",
      (row) => row.cpu,
      (row) => format.microseconds(row.cpu),
    ),
    column(
      "memory",
      "peak\nMiB",
      "Highest memory of the server's process tree in any trial.",
      (row) => row.memory,
      (row) => format.mebibytes(row.memory),
    ),
    column(
      "errors",
      "failed\nrequests",
      "Failed requests do not count toward the rate.",
      (row) => row.errors,
      (row) => format.integer(row.errors),
    ),
    column(
      "trials",
      "valid\ntrials",
      "Trials that passed every check; only these are ranked.",
      (row) => row.valid,
      (row) => `${row.valid}/${row.trials.length}`,
    ),
  ];
}

/**
 * @param {string | null} comparison
 * @param {number | null} connections
 * @returns {Column[]}
 */
function thenAndNow(comparison, connections) {
  if (!comparison) return [];
  const then = (/** @type {Row} */ row) => published(row.contender, comparison, connections);
  const ratio = (/** @type {Row} */ row) => {
    const rate = then(row)?.rate_per_s;
    return rate && row.rate ? row.rate / rate : null;
  };
  /** @type {(key: string, label: string, title: string, sort: Sort, cell: Cell, fastFirst?: boolean) => Column} */
  const column = (key, label, title, sort, cell, fastFirst = false) => ({
    key,
    group: "published",
    label,
    title,
    sort,
    cell,
    fastFirst,
    number: true,
  });
  return [
    column(
      "then",
      "then\nrequests/s",
      `The rate that ${comparison} published for this number of connections.`,
      (row) => then(row)?.rate_per_s ?? null,
      (row) => format.rate(then(row)?.rate_per_s ?? null),
      true,
    ),
    column(
      "then-rank",
      "place\nthen",
      "Place by published rate, among all rows of that table.",
      (row) => then(row)?.rank ?? null,
      (row) => {
        const rate = then(row);
        return rate ? `${rate.rank} of ${rate.rows}` : format.NONE;
      },
    ),
    column(
      "now-then",
      "now ÷\nthen",
      "Machines and versions differ: compare the order, not the factor.",
      ratio,
      (row) => {
        const times = ratio(row);
        return times ? `× ${format.figure(times)}` : format.NONE;
      },
    ),
  ];
}
