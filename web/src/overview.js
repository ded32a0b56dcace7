// Charts that compare the first rows: over the race, by block, by connections, and cost.

import { dot, gridX, gridY, line, ruleY, text } from "@observablehq/plot";
import { h, section } from "./dom.js";
import { figure } from "./figure.js";
import { dashes, logTicks, narrow, spaced } from "./labels.js";
import { curveColors } from "./language.js";
import { latencyFigure } from "./latency.js";
import * as numbers from "./numbers.js";
import { rowsAt } from "./rows.js";

/**
 * @import { ContenderPart, Report, TrialPart } from "../build/document"
 * @import { Percents } from "./labels.js"
 * @import { ColorOf } from "./language.js"
 * @import { Row } from "./rows.js"
 */

/**
 * @typedef {{ name: string, x: number, y: number, place: number, color: string }} Point
 * @typedef {{ caption: string, label: string, x: object, y: string, log: boolean, even?: number, headers: string[] }} Frame
 */

const MOST = 6; // lines: more would hide each other
const SECONDS_MOST = 180; // of a run whose axis is in seconds
const RANGE_LEAST = 10; // percent: a chart that shows less makes much of noise
const PAD = 0.08; // of the range, above and below

/**
 * An empty section, and a function that draws its charts for the rows that the reader sees. They are
 * drawn after the page: the first screen does not wait for them.
 * @param {number | null} connections
 */
export function overview(connections) {
  const holder = h("div", { class: "figures" });
  const note = h("p", { class: "status" });
  let waiting = 0;
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
  return { section: section("charts", "Charts", [note, holder]), draw };
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
  const colorOf = curveColors(report);
  const courseOf = course(report, connections, colorOf);
  return [
    latencyFigure(
      "Latency by percentile (service time)",
      rows.map((row) => ({
        name: row.name,
        color: colorOf(row.contender),
        latency: /** @type {NonNullable<Row["cell"]>} */ (row.cell).service,
      })),
    ),
    cost(rows, colorOf),
    race(
      "Rate over the race",
      report,
      rows.map((row, place) => courseOf(row.contender, place)),
    ),
    blocks(report, rows, colorOf),
    race("The controls over the race", report, controls.map(courseOf)),
    ...levels(report, rows, colorOf),
  ].filter((chart) => chart !== null);
}

/**
 * The unit of the axis of a race: no run of a minute has ticks at 0.2 minutes.
 * @param {Report} report
 */
export const raceUnit = ({ run }) =>
  (run.elapsed_s ?? 0) <= SECONDS_MOST ? { name: "second", s: 1 } : { name: "minute", s: 60 };

/**
 * The rate of each trial in percent of the contender's median, by time since the run's start.
 * @param {Report} report
 * @param {number | null} connections
 * @param {ColorOf} colorOf
 * @returns {(contender: ContenderPart, place: number) => Point[]}
 */
const course = (report, connections, colorOf) => (contender, place) => {
  const trials = contender.levels.find((each) => each.connections === connections)?.trials ?? [];
  const rates = trials.flatMap(({ rate_per_s }) => rate_per_s ?? []).sort((a, b) => a - b);
  const middle = rates[Math.floor(rates.length / 2)];
  const name = numbers.short(contender.label ?? contender.name);
  const color = colorOf(contender);
  return trials.flatMap(({ at_s, rate_per_s }) =>
    rate_per_s
      ? [{ name, place, color, x: at_s / raceUnit(report).s, y: (100 * rate_per_s) / middle }]
      : [],
  );
};

/**
 * @param {string} caption
 * @param {Report} report
 * @param {Point[][]} series
 */
function race(caption, report, series) {
  const { name } = raceUnit(report);
  return lines(series, {
    caption,
    label: `${caption}: each trial's rate in percent of the median of its server.`,
    x: { label: `${name}s since the start` },
    y: "% of the server's median",
    log: false,
    even: 100,
    headers: ["server", name, "% of its median"],
  });
}

/**
 * The block of a trial. In a race in slices, the starts of each server have numbers of their own.
 * @param {Report} report
 * @returns {(trial: TrialPart) => string}
 */
export const blockOf =
  ({ run }) =>
  ({ invocation, heat, block }) =>
    run.protocol.kind === "slices" ? `${block}` : `${invocation}/${heat}/${block}`;

/**
 * The ratio to the leader in each block where both have a valid trial.
 * @param {Report} report
 * @param {Row[]} rows
 * @param {ColorOf} colorOf
 */
function blocks(report, rows, colorOf) {
  const key = blockOf(report);
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
                  color: colorOf(row.contender),
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
 * @param {ColorOf} colorOf
 */
function levels(report, rows, colorOf) {
  if (report.levels.length < 2) return [];
  const all = report.levels.map(({ connections }) => rowsAt(report, connections));
  const series = rows.map((row, place) =>
    report.levels.flatMap(({ connections }, i) => {
      const rate = all[i].find(({ contender }) => contender === row.contender)?.rate;
      const name = numbers.short(row.name);
      return rate ? [{ name, place, color: colorOf(row.contender), x: connections, y: rate }] : [];
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
  const domain = frame.even ? around(values, frame.even) : decades(values);
  /** @type {Percents} */
  const scale = { type: frame.log ? "log" : "linear", domain, ticks: 5 };
  const ends = drawn.map((each) => {
    const end = each.reduce((a, b) => (b.x >= a.x ? b : a));
    return { name: end.name, trial: end.x, share: end.y, color: end.color };
  });
  const right = Math.max(...points.map(({ x }) => x));
  return figure(
    frame.caption,
    frame.label,
    {
      marginRight: narrow() ? 110 : 130,
      x: { ticks: 5, ...frame.x },
      y: { label: frame.y, ...scale, tickFormat: numbers.tick },
      marks: [
        gridY({ ticks: 5 }),
        frame.even ? ruleY([frame.even], { stroke: "var(--muted)" }) : null,
        ...drawn.map((each) =>
          line(each, {
            x: "x",
            y: "y",
            stroke: each[0].color,
            strokeDasharray: dashes(each[0].place),
            strokeWidth: 1.75,
          }),
        ),
        text(spaced(ends, scale), {
          x: right,
          y: "place",
          text: (end) =>
            narrow() ? end.brief : `${end.name.slice(0, 19)}${end.name.length > 19 ? "…" : ""}`,
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
 * The values and the line that they are compared with, over the whole height.
 * @param {number[]} values
 * @param {number} even
 * @returns {[number, number]}
 */
export function around(values, even) {
  const [low, high] = [Math.min(...values, even), Math.max(...values, even)];
  const pad = Math.max(PAD * (high - low), (RANGE_LEAST - (high - low)) / 2);
  return [Math.max(0, low - pad), high + pad];
}

/**
 * @param {number[]} values
 * @returns {[number, number]}
 */
const decades = (values) => [Math.min(...values) * 0.8, Math.max(...values) * 1.05];

/**
 * CPU time per request against the rate.
 * @param {Row[]} rows
 * @param {ColorOf} colorOf
 */
function cost(rows, colorOf) {
  const points = rows.flatMap(({ name, rate, cpu, contender }) =>
    cpu && rate ? [{ name: numbers.short(name), rate, cpu, color: colorOf(contender) }] : [],
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
      fill: "color",
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
        dot(points, { x: "rate", y: "cpu", r: 4, fill: "color" }),
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
