// The table's columns: what a cell shows, and what it sorts by.

import { h } from "./dom.js";
import * as numbers from "./numbers.js";
import { published } from "./rows.js";

/**
 * @import { Child } from "./dom.js"
 * @import { Choice } from "./ranking.js"
 * @import { Quantiles, Row } from "./rows.js"
 */

/**
 * @typedef {(row: Row) => string | number | null} Sort
 * @typedef {(row: Row) => Child} Cell
 * @typedef {object} Column
 * @property {string} key
 * @property {string} label
 * @property {string} [title]
 * @property {Sort} sort
 * @property {Cell} cell
 * @property {string} [className]
 * @property {boolean} [header]
 * @property {boolean} [number]
 */

const FIXED = ["rank", "server"];
/** Columns that compare rows: one row alone has none. */
const COMPARING = ["rank", "ratio"];
/** The other columns that a reader sees first. */
export const FIRST = ["rate", "ratio", "p99", "cpu"];
/** The columns of a published comparison. */
export const THEN_AND_NOW = ["then", "then-rank", "now-then"];

const FAST_FIRST = ["rate", "ratio", "then"];
const REPEATS = 1.05; // a first byte this close to the last one says nothing more

/**
 * The columns for the rows of one level.
 * @param {Row[]} rows
 * @param {Choice} choice
 */
export const columns = (rows, choice) =>
  offered(rows, choice).filter(({ key }) => FIXED.includes(key) || choice.shown.has(key));

/**
 * The columns that a reader can show and hide.
 * @param {Row[]} rows
 * @param {Pick<Choice, "comparison" | "connections">} choice
 */
export const optional = (rows, choice) =>
  offered(rows, choice).filter(({ key }) => !FIXED.includes(key));

/**
 * Whether the first click on a column sorts in descending order.
 * @param {string} key
 */
export const isFastFirst = (key) => FAST_FIRST.includes(key);

/**
 * @param {Row[]} rows
 * @param {Pick<Choice, "comparison" | "connections">} choice
 * @returns {Column[]}
 */
function offered(rows, { comparison, connections }) {
  const all = [...order(), ...times(rows), ...cost(), ...thenAndNow(comparison, connections)];
  return rows.length > 1 ? all : all.filter(({ key }) => !COMPARING.includes(key));
}

/** @returns {Column[]} */
function order() {
  return [
    {
      key: "rank",
      label: "rank",
      title: "An interval where several places are possible. Braced rows are a dead heat.",
      sort: (row) => (row.ranked ? row.place : null),
      cell: (row) => numbers.rank(row.standing),
      className: "rank",
    },
    {
      key: "server",
      label: "server",
      sort: (row) => row.name.toLowerCase(),
      cell: server,
      className: "server",
      header: true,
    },
    {
      key: "rate",
      label: "requests/s",
      title: "In brackets: no trial was valid, so it is not ranked.",
      sort: (row) => row.rate,
      cell: (row) =>
        row.cell?.doubtful && row.rate !== null
          ? `(${numbers.rate(row.rate)})`
          : numbers.rate(row.rate),
      number: true,
    },
    {
      key: "ratio",
      label: "% of the\nfastest",
      title: "Ratio of the rates within blocks, with its confidence interval.",
      sort: (row) => row.standing.ratio_to_leader?.ratio ?? null,
      cell: (row) => numbers.ofLeader(row.standing.ratio_to_leader, row.ranked),
      className: "ratio",
    },
  ];
}

/** @param {Row} row */
function server({ contender, name, panel, standing }) {
  const details = [contender.language, contender.version].filter(Boolean).join(" · ");
  return [
    h("a", { class: "clamp", href: `#${panel}`, dir: "auto" }, name),
    standing.pauses ? h("abbr", { title: standing.pauses.text }, " ‖") : null,
    details ? h("span", { class: "details", dir: "auto", title: details }, details) : null,
  ];
}

/** @typedef {"service" | "firstByte" | "response"} Times */

/**
 * @param {Row[]} rows
 * @returns {Column[]}
 */
function times(rows) {
  /** @type {(key: string, group: Times, name: keyof Quantiles, noun: string) => Column} */
  const quantile = (key, group, name, noun) => ({
    key,
    label: `${noun}${name.slice(0, 3)}, ms`,
    title: TITLES[group],
    sort: (row) => row[group][name],
    cell: (row) => numbers.milliseconds(row[group][name]),
    number: true,
  });
  /** @type {(group: Times, prefix: string, noun: string) => Column[]} */
  const pair = (group, prefix, noun) =>
    rows.some((row) => row[group].p50_us !== null)
      ? [
          quantile(`${prefix}p50`, group, "p50_us", noun),
          quantile(`${prefix}p99`, group, "p99_us", noun),
        ]
      : [];
  return [
    ...pair("service", "", ""),
    ...(rows.some(firstByteDiffers) ? pair("firstByte", "first-byte-", "first byte\n") : []),
    ...pair("response", "response-", "response\n"),
  ];
}

/**
 * Whether the first byte of a response comes clearly before its last one.
 * @param {Row} row
 */
const firstByteDiffers = ({ service, firstByte }) =>
  /** @type {const} */ (["p50_us", "p99_us"]).some(
    (name) => firstByte[name] !== null && Number(service[name]) > REPEATS * Number(firstByte[name]),
  );

const TITLES = {
  response: "From the time a request was due, at a fixed offered rate (open loop).",
  service: "From sending a request to its last byte, at full load (closed loop).",
  firstByte: "From sending a request to the first byte of its response.",
};

/** @type {(key: string, label: string, title: string, sort: Sort, cell: Cell) => Column} */
const column = (key, label, title, sort, cell) => ({
  key,
  label,
  title,
  sort,
  cell,
  number: true,
});

/** @returns {Column[]} */
function cost() {
  return [
    column(
      "cpu",
      "CPU\nµs/request",
      "CPU time of the server's process tree, for each request.",
      (row) => row.cpu,
      (row) => numbers.microseconds(row.cpu),
    ),
    column(
      "memory",
      "peak\nMiB",
      "Highest memory of the server's process tree in any trial: anonymous and shared memory.",
      (row) => row.memory,
      (row) => numbers.mebibytes(row.memory),
    ),
    column(
      "idle",
      "idle\nMiB",
      "Memory of the server's process tree before its first load, the mean over its starts.",
      (row) => row.contender.footprint?.idle_bytes?.mean ?? null,
      (row) => numbers.mebibytes(row.contender.footprint?.idle_bytes?.mean ?? null),
    ),
    column(
      "errors",
      "failed\nrequests",
      "Failed requests do not count toward the rate.",
      (row) => row.errors,
      (row) => numbers.integer(row.errors),
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
  return [
    column(
      "then",
      "then\nrequests/s",
      `The rate that ${comparison} published for this number of connections.`,
      (row) => then(row)?.rate_per_s ?? null,
      (row) => numbers.rate(then(row)?.rate_per_s ?? null),
    ),
    column(
      "then-rank",
      "place\nthen",
      "Place by published rate, among all rows of that table.",
      (row) => then(row)?.rank ?? null,
      (row) => {
        const rate = then(row);
        return rate ? `${rate.rank} of ${rate.rows}` : numbers.NONE;
      },
    ),
    column(
      "now-then",
      "now ÷\nthen",
      "Machines and versions differ: compare the order, not the factor.",
      ratio,
      (row) => {
        const times = ratio(row);
        return times ? `× ${numbers.figure(times)}` : numbers.NONE;
      },
    ),
  ];
}
