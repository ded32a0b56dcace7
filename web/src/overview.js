// Charts that compare the first rows: over the race, by block, by connections, and cost.

import { dot, gridX, gridY, line, ruleY, text } from "@observablehq/plot";
import { h } from "./dom.js";
import { figure } from "./figure.js";
import { color, dashes, logTicks, spaced } from "./labels.js";
import { latencyFigure } from "./latency.js";
import * as numbers from "./numbers.js";
import { rowsAt } from "./rows.js";

/**
 * @import { ContenderPart, Report } from "../build/document"
 * @import { Percents } from "./labels.js"
 * @import { Row } from "./rows.js"
 */

/**
 * @typedef {{ name: string, x: number, y: number, place: number }} Point
 * @typedef {{ caption: string, label: string, x: object, y: string, log: boolean, even?: number, headers: string[] }} Frame
 */

const MOST = 6; // lines: more would hide each other
/**
 * An empty section, and a function that draws its charts for the rows that the reader sees. They are
 * drawn after the page: the first screen does not wait for them.
 * @param {number | null} connections
 */
export function overview(connections) {
  const holder = h("div", { class: "figures" });
  const note = h("p", { class: "status" });
  let waiting = 0;
  const section = h(
    "section",
    { "aria-labelledby": "charts" },
    h("h2", { id: "charts" }, "Charts"),
    note,
    holder,
  );
  let drawn = "";
  const draw = (/** @type {Report} */ report, /** @type {Row[]} */ kept) => {
    const rows = kept.filter((row) => row.rate).slice(0, MOST);
    const key = JSON.stringify([rows, kept.length, report.contenders.filter(isControl)]);
    clearTimeout(waiting);
    if (key === drawn) return;
    waiting = window.setTimeout(() => {
      drawn = key;
      note.textContent = `The first ${rows.length} of ${numbers.count(kept.length, "server")} above. A filter chooses others.`;
      const open = new Set([...holder.children].filter(isOpen).map(captionOf));
      holder.replaceChildren(...charts(report, connections, rows));
      for (const each of holder.children)
        if (open.has(captionOf(each))) each.querySelector("details")?.setAttribute("open", "");
    });
  };
  return { section, draw };
}

const isControl = (/** @type {ContenderPart} */ { role }) => role === "control";
const isOpen = (/** @type {Element} */ chart) => chart.querySelector("details[open]") !== null;
const captionOf = (/** @type {Element} */ chart) => chart.querySelector("figcaption")?.textContent;

/**
 * @param {Report} report
 * @param {number | null} connections
 * @param {Row[]} rows
 */
function charts(report, connections, rows) {
  const controls = report.contenders.filter(isControl);
  return [
    latencyFigure(
      "Latency by percentile (service time)",
      rows.map((row) => ({
        name: row.name,
        latency: /** @type {NonNullable<Row["cell"]>} */ (row.cell).service,
      })),
    ),
    cost(rows),
    race("Rate over the race", rows.map(courseOf(connections))),
    blocks(rows),
    race(
      "The controls over the race",
      controls.map((each, place) => course(each, connections, place)),
    ),
    ...levels(report, rows),
  ].filter((chart) => chart !== null);
}

/** @param {number | null} connections */
const courseOf = (connections) => (/** @type {Row} */ row, /** @type {number} */ place) =>
  course(row.contender, connections, place);

/**
 * The rate of each trial in percent of the contender's median, by minutes since the run's start.
 * @param {ContenderPart} contender
 * @param {number | null} connections
 * @param {number} place
 * @returns {Point[]}
 */
function course(contender, connections, place) {
  const trials = contender.levels.find((each) => each.connections === connections)?.trials ?? [];
  const rates = trials.flatMap(({ rate_per_s }) => rate_per_s ?? []).sort((a, b) => a - b);
  const middle = rates[Math.floor(rates.length / 2)];
  const name = numbers.short(contender.label ?? contender.name);
  return trials.flatMap(({ at_s, rate_per_s }) =>
    rate_per_s ? [{ name, place, x: at_s / 60, y: (100 * rate_per_s) / middle }] : [],
  );
}

/**
 * @param {string} caption
 * @param {Point[][]} series
 */
function race(caption, series) {
  return lines(series, {
    caption,
    label: `${caption}: each trial's rate in percent of the median of its server.`,
    x: { label: "minutes since the start" },
    y: "% of the server's median",
    log: false,
    even: 100,
    headers: ["server", "minute", "% of its median"],
  });
}

/**
 * The ratio to the leader in each block where both have a valid trial.
 * @param {Row[]} rows
 */
function blocks(rows) {
  const key = (/** @type {Row["trials"][number]} */ { invocation, block }) =>
    `${invocation}/${block}`;
  const leader = rows.find((row) => row.standing.ratio_to_leader?.ratio === 1);
  if (!leader) return null;
  const valid = leader.trials.filter((trial) => trial.valid && trial.rate_per_s);
  const of = new Map(valid.map((trial) => [key(trial), Number(trial.rate_per_s)]));
  const order = new Map([...of.keys()].map((each, i) => [each, i + 1]));
  const series = rows.map((row, place) =>
    row === leader
      ? []
      : row.trials.flatMap((trial) => {
          const rate = of.get(key(trial));
          return trial.valid && trial.rate_per_s && rate
            ? [
                {
                  name: numbers.short(row.name),
                  place,
                  x: Number(order.get(key(trial))),
                  y: (100 * trial.rate_per_s) / rate,
                },
              ]
            : [];
        }),
  );
  const name = numbers.short(leader.name);
  return lines(series, {
    caption: `Ratio to ${name}, block by block`,
    label: `Rate in percent of ${name}, in each block where both are valid.`,
    x: { label: `block of ${name}`, ticks: wholes(order.size), tickFormat: "d" },
    y: `% of ${name}`,
    log: false,
    even: 100,
    headers: ["server", "block", `% of ${name}`],
  });
}

/**
 * About six whole numbers from 1 on: Plot's own ticks have fractions where blocks are few.
 * @param {number} most
 */
function wholes(most) {
  const step = Math.max(1, Math.ceil(most / 6));
  return Array.from({ length: Math.ceil(most / step) }, (_, i) => 1 + i * step);
}

/**
 * @param {Report} report
 * @param {Row[]} rows
 */
function levels(report, rows) {
  if (report.levels.length < 2) return [];
  const all = report.levels.map(({ connections }) => rowsAt(report, connections));
  const series = rows.map((row, place) =>
    report.levels.flatMap(({ connections }, i) => {
      const rate = all[i].find(({ contender }) => contender === row.contender)?.rate;
      return rate ? [{ name: numbers.short(row.name), place, x: connections, y: rate }] : [];
    }),
  );
  const ticks = report.levels.map(({ connections }) => connections);
  return [
    lines(series, {
      caption: "Rate by connections",
      label: "Rate of each server by number of connections.",
      x: { label: "connections", type: "log", ticks, tickFormat: String },
      y: "requests/s",
      log: true,
      headers: ["server", "connections", "requests/s"],
    }),
  ];
}

/**
 * Lines with their names at the end. Each has a dash pattern as well as a color.
 * @param {Point[][]} series
 * @param {Frame} frame
 */
function lines(series, frame) {
  const drawn = series.filter((points) => points.length > 1);
  if (!drawn.length) return null;
  const points = drawn.flat();
  const values = points.map(({ y }) => y);
  const most = Math.max(...values, frame.even ?? 0) * 1.05;
  /** @type {[number, number]} */
  const domain = frame.log ? [Math.min(...values) * 0.8, most] : [0, most];
  /** @type {Percents} */
  const scale = { type: frame.log ? "log" : "linear", domain, ticks: 5 };
  const ends = drawn.map((each) => {
    const end = each.reduce((a, b) => (b.x >= a.x ? b : a));
    return { name: end.name, trial: end.x, share: end.y, color: color(end.place) };
  });
  const right = Math.max(...points.map(({ x }) => x));
  return figure(
    frame.caption,
    frame.label,
    {
      marginRight: 130,
      x: { ticks: 5, ...frame.x },
      y: { label: frame.y, ...scale, tickFormat: numbers.tick },
      marks: [
        gridY({ ticks: 5 }),
        frame.even ? ruleY([frame.even], { stroke: "var(--muted)" }) : null,
        ...drawn.map((each) =>
          line(each, {
            x: "x",
            y: "y",
            stroke: color(each[0].place),
            strokeDasharray: dashes(each[0].place),
            strokeWidth: 1.75,
          }),
        ),
        text(spaced(ends, scale), {
          x: right,
          y: "place",
          text: (end) => `${end.name.slice(0, 19)}${end.name.length > 19 ? "…" : ""}`,
          textAnchor: "start",
          dx: 6,
          fill: (end) => end.color,
        }),
      ],
    },
    frame.headers,
    points.map(({ name, x, y }) => [name, numbers.figure(x), numbers.figure(y)]),
  );
}

/**
 * CPU time per request against the rate.
 * @param {Row[]} rows
 */
function cost(rows) {
  const points = rows.flatMap((row) =>
    row.cpu && row.rate ? [{ name: numbers.short(row.name), rate: row.rate, cpu: row.cpu }] : [],
  );
  if (points.length < 2) return null;
  const middle = Math.sqrt(
    Math.min(...points.map((p) => p.rate)) * Math.max(...points.map((p) => p.rate)),
  );
  const ticks = logTicksOf(points.map(({ cpu }) => cpu));
  const across = logTicksOf(points.map(({ rate }) => rate));
  /** @type {Percents} */
  const scale = { type: "log", domain: [ticks[0], ticks[ticks.length - 1]], ticks };
  const placed = spaced(
    points.map((point) => ({ ...point, trial: point.rate, share: point.cpu })),
    scale,
  );
  /** @type {(some: typeof placed, textAnchor: "start" | "end") => ReturnType<typeof text>} */
  const names = (some, textAnchor) =>
    text(some, {
      x: "rate",
      y: "place",
      text: "brief",
      textAnchor,
      dx: textAnchor === "start" ? 8 : -8,
      fill: "var(--ink)",
    });
  return figure(
    "Cost against rate",
    "CPU time per request and rate of each server; fast and cheap is at the bottom right.",
    {
      x: {
        type: "log",
        domain: [across[0], across.at(-1)],
        label: "requests/s",
        ticks: across,
        tickFormat: numbers.tick,
      },
      y: { label: "CPU, µs/request", ...scale, tickFormat: numbers.tick },
      marks: [
        gridX({ ticks: across }),
        gridY({ ticks }),
        dot(points, { x: "rate", y: "cpu", r: 4, fill: "var(--blue)" }),
        names(
          placed.filter(({ rate }) => rate < middle),
          "start",
        ),
        names(
          placed.filter(({ rate }) => rate >= middle),
          "end",
        ),
      ],
    },
    ["server", "requests/s", "CPU, µs/request"],
    points.map(({ name, rate, cpu }) => [name, numbers.rate(rate), numbers.microseconds(cpu)]),
  );
}

/** @param {number[]} values */
const logTicksOf = (values) => logTicks(Math.min(...values), Math.max(...values));
