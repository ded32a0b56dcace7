// The ranking's columns: what a cell shows, and what it sorts by.

import { h } from "./dom.js";
import * as format from "./format.js";
import { published } from "./rows.js";
import { whisker, whiskerAxis } from "./whisker.js";

/** The groups that a reader can switch on and off; `order` always stands. */
export const GROUPS = {
  times: "Times",
  cost: "Cost",
  published: "Then and now",
};

/** Columns for a level's rows. `shown` holds the groups switched on. */
export function columns(rows, { shown, comparison, connections }) {
  const all = [...order(rows), ...times(rows), ...cost(), ...thenAndNow(comparison, connections)];
  return all.filter((column) => column.group === undefined || shown.has(column.group));
}

function order(rows) {
  const scale = whiskerScale(rows);
  return [
    {
      key: "rank",
      label: "rank",
      title: "An interval where the data allow several places. Braced rows are a dead heat.",
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
          rows.some((one) => one.ranked),
        ),
      className: "server",
      header: true,
    },
    {
      key: "rate",
      label: "requests/s",
      title: "In brackets: no trial behind it was valid, so it does not rank.",
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
      title: "The ratio of the rates, block by block, with its interval.",
      sort: (row) => row.standing.ratio_to_leader?.ratio ?? null,
      fastFirst: true,
      cell: (row) => format.ofLeader(row.standing.ratio_to_leader),
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

/** Percent of the leader, from 0 to the furthest whisker. */
function whiskerScale(rows) {
  const leader =
    rows.find((row) => row.standing.ratio_to_leader?.ratio === 1)?.rate ??
    Math.max(1, ...rows.map((row) => row.rate ?? 0));
  const ends = rows.map((row) =>
    row.ranked
      ? Math.min(row.standing.ratio_to_leader?.high ?? 1, 2)
      : (row.standing.ratio_to_leader?.ratio ?? (row.rate ?? 0) / leader),
  );
  return { leader, most: Math.max(1, ...ends) };
}

/** Why it has no rank is told where others have one, or where it has no valid trial either. */
function server(row, ranks) {
  const { contender, standing, panel } = row;
  const told = [contender.language, contender.version].filter(Boolean).join(" · ");
  return [
    h("a", { class: "clamp", href: `#${panel}`, dir: "auto" }, row.name),
    told ? h("span", { class: "told", dir: "auto", title: told }, told) : null,
    row.ranked || (row.valid && !ranks)
      ? null
      : h(
          "span",
          { class: "why", title: standing.reason },
          `not ranked: ${standing.reason ?? "no reason kept"}`,
        ),
  ];
}

function times(rows) {
  const quantile = (group, name, noun) => ({
    key: `${group}-${name}`,
    group: "times",
    label: `${noun}\n${name}, ms`,
    title: TIMES[group],
    sort: (row) => row[group][`${name}_us`],
    cell: (row) => format.milliseconds(row[group][`${name}_us`]),
    number: true,
  });
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
  response: "From the moment a request was due, at a fixed offered rate (open loop).",
  service: "From sending a request to its last byte, at full load (closed loop).",
  firstByte: "From sending a request to the first byte of its response.",
};

function cost() {
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
      "CPU time of the server's whole process tree.",
      (row) => row.cpu,
      (row) => format.microseconds(row.cpu),
    ),
    column(
      "memory",
      "peak\nMiB",
      "Its highest memory in any trial.",
      (row) => row.memory,
      (row) => format.mebibytes(row.memory),
    ),
    column(
      "errors",
      "failed\nrequests",
      "They are in no rate.",
      (row) => row.errors,
      (row) => format.integer(row.errors),
    ),
    column(
      "trials",
      "valid\ntrials",
      "Only a valid trial ranks.",
      (row) => row.valid,
      (row) => `${row.valid}/${row.trials.length}`,
    ),
  ];
}

function thenAndNow(comparison, connections) {
  if (!comparison) return [];
  const then = (row) => published(row.contender, comparison, connections);
  const times = (row) => (then(row) && row.rate ? row.rate / then(row).rate_per_s : null);
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
      `As ${comparison} printed it at this many connections.`,
      (row) => then(row)?.rate_per_s ?? null,
      (row) => format.rate(then(row)?.rate_per_s ?? null),
      true,
    ),
    column(
      "then-rank",
      "place\nthen",
      "By the printed rate, among all rows of that table.",
      (row) => then(row)?.rank ?? null,
      (row) => (then(row) ? `${then(row).rank} of ${then(row).rows}` : format.NONE),
    ),
    column(
      "now-then",
      "now ÷\nthen",
      "Another machine, another decade: compare the order, not the factor.",
      times,
      (row) => (times(row) ? `× ${format.figure(times(row))}` : format.NONE),
    ),
  ];
}
