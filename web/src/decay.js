// Decay: the rate of each server over the life of an instance.

import { gridY, line, ruleY, text } from "@observablehq/plot";
import { h, section } from "./dom.js";
import { figure } from "./figure.js";
import { narrow, spaced } from "./labels.js";
import * as numbers from "./numbers.js";
import { recovery } from "./recovery.js";
import { last, rowsAt } from "./rows.js";

/**
 * @import { Report, TrialPart } from "../build/document"
 * @import { Percents } from "./labels.js"
 */

const COLLAPSED = 0.6; // of the first trial: no noise, even of a few trials
const ALARM_FEWEST = 6; // trials of an instance: a few noisy ones are no alarm
const LABELED_MOST = 12; // lines with a name
const DECAYED = 0.9;
const FEWEST_TRIALS = 3;
const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/**
 * Rate by trial, as a share of the rate in the first trial of the same instance.
 * @param {Report} report
 * @param {number | null} connections
 */
export function decay(report, connections) {
  const controls = controlShares(report, connections);
  const series = rowsAt(report, connections)
    .map((row) => ({
      name: numbers.short(row.name),
      shares: shares(row.trials).map((share, i) => share / (controls[i] ?? 1)),
    }))
    .filter(({ shares: list }) => list.length >= FEWEST_TRIALS);
  if (!series.length) return [];
  const points = series.flatMap(({ name, shares: list }) =>
    list.map((share, i) => ({
      name,
      trial: i + 1,
      share: 100 * share,
      fell: fellForGood(list),
    })),
  );
  const fell = series.filter(({ shares: list }) => fellForGood(list));
  const labeled = series.length <= LABELED_MOST ? series : fell;
  const ends = labeled.map(({ name, shares: list }) => ({
    fell: fellForGood(list),
    name,
    trial: list.length,
    share: 100 * last(list),
  }));
  const most = Math.max(...points.map((point) => point.trial));
  const servers = numbers.count(series.length, "server");
  const beside = controls.length ? ", beside the controls" : "";
  const summary = fell.length
    ? `${fell.length} of ${servers} ended more than 10 % below the first trial${beside}: ${fell.map(({ name }) => name).join("; ")}.`
    : `None of ${servers} ended more than 10 % below the first trial${beside}.`;
  const up = percents(points.map((point) => point.share));
  return [
    section("decay", "Rate over an instance's life", [
      h("p", { dir: "auto" }, summary),
      figure(
        "Rate by trial of an instance",
        `Rate of each server by trial, in percent of the instance's first trial, as the mean over instances. ${summary}`,
        {
          width: 960,
          marginRight: narrow() ? 110 : 220,
          x: {
            label: "trial of the instance",
            labelAnchor: "center",
            ticks: most > 12 ? 10 : Array.from({ length: most }, (_, i) => i + 1),
            tickFormat: "d",
          },
          y: { label: "% of the first trial", ...up },
          marks: [
            gridY({ ticks: up.ticks }),
            ruleY([100], { stroke: "var(--muted)" }),
            line(points, {
              x: "trial",
              y: "share",
              z: "name",
              stroke: (point) => (point.fell ? "var(--orange)" : "var(--muted)"),
              strokeOpacity: (point) => (point.fell ? 1 : 0.5),
            }),
            text(spaced(ends, up), {
              x: "trial",
              y: "place",
              text: narrow() ? "brief" : "name",
              textAnchor: "start",
              dx: 6,
              fill: (end) => (end.fell ? "var(--orange)" : "var(--muted)"),
            }),
          ],
        },
        ["server", ...Array.from({ length: most }, (_, i) => String(i + 1))],
        series.map(({ name, shares: list }) => [
          name,
          ...Array.from({ length: most }, (_, i) =>
            list[i] === undefined ? numbers.NONE : numbers.integer(100 * list[i]),
          ),
        ]),
      ),
      recovery(report),
    ]),
  ];
}

/**
 * What the machine did: the geometric mean over the controls; empty without controls.
 * @param {Report} report
 * @param {number | null} connections
 */
function controlShares(report, connections) {
  const lists = report.contenders
    .filter(({ role }) => role === "control")
    .map(({ levels }) => levels.find((level) => level.connections === connections))
    .map((cell) => shares(cell?.trials ?? []))
    .filter((list) => list.length);
  const length = lists.length ? Math.min(...lists.map((list) => list.length)) : 0;
  return Array.from({ length }, (_, i) =>
    Math.exp(lists.reduce((total, list) => total + Math.log(list[i]), 0) / lists.length),
  );
}

/**
 * For each trial that all instances have: the geometric mean of rate over first rate.
 * @param {TrialPart[]} trials
 */
function shares(trials) {
  /** @type {Map<number, number[]>} */
  const rates = new Map();
  for (const { invocation, rate_per_s } of trials) {
    if (rate_per_s) rates.set(invocation, [...(rates.get(invocation) ?? []), rate_per_s]);
  }
  const lists = [...rates.values()];
  const length = Math.min(...lists.map((list) => list.length));
  if (!lists.length) return [];
  return Array.from({ length }, (_, i) =>
    Math.exp(lists.reduce((total, list) => total + Math.log(list[i] / list[0]), 0) / lists.length),
  );
}

/**
 * Whether a rate ended below the limit for good: in its last trials, or far below.
 * @param {number[]} list
 */
const fellForGood = (list) =>
  list.length < ALARM_FEWEST ? last(list) < COLLAPSED : Math.max(...list.slice(-3)) < DECAYED;

/**
 * Plot's scale for percentages: linear from 0, logarithmic where a rate more than doubled.
 * @param {number[]} shares
 * @returns {Percents}
 */
function percents(shares) {
  const most = Math.max(100, ...shares);
  if (most <= 200) return { type: "linear", domain: [0, most], ticks: 5 };
  const least = Math.min(80, ...shares);
  return {
    type: "log",
    domain: [least, most],
    ticks: TICKS.filter((tick) => tick >= least && tick <= most),
    tickFormat: String,
  };
}
