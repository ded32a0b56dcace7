// Sections that only some runs have: scaling, decay, offered rates, capacity.

import { dot, gridY, line, ruleX, ruleY, text } from "@observablehq/plot";
import { h, scrolling, table } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";
import { color, dashes, spaced } from "./labels.js";
import { last, rowsAt } from "./rows.js";

/**
 * @import { Report, Scaling, ScalingPoint, Trial } from "../build/document"
 * @import { Child } from "./dom.js"
 * @import { Percents } from "./labels.js"
 */

/**
 * @typedef {ScalingPoint & { rate_per_s: number }} Point a point that has a rate
 */

const COLLAPSED = 0.6; // of the first trial: no noise, even of a few trials
const ALARM_FEWEST = 6; // trials of an instance: a few noisy ones are no alarm
const LABELED_MOST = 12; // lines with a name
const DECAYED = 0.9;
const FEWEST_TRIALS = 3;

/**
 * @param {Report} report
 * @param {number | null} connections
 */
export function loads(report, connections) {
  return [
    ...scaling(report, connections),
    ...decay(report, connections),
    ...offered(report),
    ...capacity(report),
  ];
}

/**
 * @param {Report} report
 * @param {number | null} connections
 */
function scaling(report, connections) {
  const curves = report.levels.find((level) => level.connections === connections)?.scaling ?? [];
  if (!curves.length) return [];
  return [
    section(
      "scaling",
      "Scaling with workers",
      curves.map((curve) => {
        const points = curve.points.flatMap((point) =>
          point.rate_per_s ? [{ ...point, rate_per_s: point.rate_per_s }] : [],
        );
        const name = format.short(
          curve.setting === "default" ? curve.server : `${curve.server}:${curve.setting}`,
        );
        const most = Math.max(...points.map((point) => point.workers));
        const first = points[0];
        const gain = (/** @type {Point} */ point) =>
          point.ratio_to_fewest ?? {
            ratio: point.rate_per_s / first.rate_per_s,
            low: null,
            high: null,
          };
        const bounded = points.filter((point) => gain(point).low !== null);
        return [
          figure(
            name,
            `Rate of ${name} by number of workers, relative to ${format.count(first.workers, "worker")}.`,
            {
              x: {
                label: "workers",
                ticks: points.map((point) => point.workers),
                tickFormat: String,
                domain: [0.5, most + 0.5],
              },
              y: {
                label: `times ${format.count(first.workers, "worker")}`,
                zero: true,
                nice: true,
                ticks: 5,
              },
              marks: [
                gridY({ ticks: 5 }),
                line(
                  [
                    [first.workers, 1],
                    [most, most / first.workers],
                  ],
                  { stroke: "var(--muted)", strokeDasharray: "3 4" },
                ),
                line(law(curve, most, first), { stroke: "var(--blue)", strokeOpacity: 0.6 }),
                ruleX(bounded, {
                  x: "workers",
                  y1: (point) => gain(point).low,
                  y2: (point) => gain(point).high,
                  strokeWidth: 1.5,
                }),
                dot(points, {
                  x: "workers",
                  y: (point) => gain(point).ratio,
                  r: 4,
                  fill: "var(--blue)",
                }),
                curve.cpus && curve.cpus < most
                  ? ruleX([curve.cpus + 0.5], { stroke: "var(--orange)", strokeDasharray: "4 3" })
                  : null,
              ],
            },
            ["workers", "requests/s", "times", "CPU, µs/request"],
            curve.points.map((point) => [
              format.integer(point.workers),
              format.rate(point.rate_per_s),
              point.rate_per_s
                ? format.figure(gain({ ...point, rate_per_s: point.rate_per_s }).ratio)
                : format.NONE,
              format.microseconds(point.server_cpu_us_per_request),
            ]),
          ),
          h(
            "ul",
            {},
            curve.text.map((sentence) => h("li", { dir: "auto" }, sentence)),
          ),
        ];
      }),
    ),
  ];
}

/**
 * The fitted Universal Scalability Law (Gunther 1993), relative to the first point.
 * @param {Scaling} curve
 * @param {number} most
 * @param {Point} first
 * @returns {[number, number][]}
 */
function law({ fit }, most, first) {
  if (!fit) return [];
  const [lambda, sigma, kappa] = [fit.rate_of_one_per_s, fit.contention, fit.coherency].map(
    (estimate) => estimate.value ?? 0,
  );
  const rate = (/** @type {number} */ n) =>
    (lambda * n) / (1 + sigma * (n - 1) + kappa * n * (n - 1));
  return Array.from({ length: 41 }, (_, i) => {
    const n = first.workers + ((most - first.workers) * i) / 40;
    return [n, rate(n) / first.rate_per_s];
  });
}

/**
 * Rate by trial, as a share of the rate in the first trial of the same instance.
 * @param {Report} report
 * @param {number | null} connections
 */
function decay(report, connections) {
  const controls = controlShares(report, connections);
  const series = rowsAt(report, connections)
    .map((row) => ({
      name: format.short(row.name),
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
  const servers = format.count(series.length, "server");
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
            list[i] === undefined ? format.NONE : String(Math.round(100 * list[i])),
          ),
        ]),
      ),
      recovery(report),
    ]),
  ];
}

/**
 * How long each server took after each trial until it was as fast as in its first one. A cross is a
 * server that did not recover while it was watched.
 * @param {Report} report
 */
function recovery(report) {
  const series = report.contenders
    .filter(({ recoveries }) => recoveries.length)
    .map(({ name, label, recoveries }, place) => ({
      name: format.short(label ?? name),
      place,
      points: recoveries.map(({ recovered_after_s, burnt_for_s }, i) => ({
        trial: i + 1,
        seconds: recovered_after_s ?? burnt_for_s ?? 0,
        never: recovered_after_s === null,
      })),
    }));
  if (!series.length) return null;
  const all = series.flatMap(({ points }) => points);
  const most = Math.max(...all.map(({ seconds }) => seconds), 1) * 1.05;
  const trials = Math.max(...all.map(({ trial }) => trial));
  /** @type {Percents} */
  const up = { type: "linear", domain: [0, most], ticks: 5 };
  const ends = series.map(({ name, place, points }) => {
    const end = last(points);
    return { name, trial: end.trial, share: end.seconds, color: color(place) };
  });
  const slow = all.filter(({ never }) => never).length;
  const summary = slow
    ? `No recovery after ${slow} of ${format.count(all.length, "trial")}.`
    : `Each server recovered after each trial, after ${format.duration(Math.max(...all.map(({ seconds }) => seconds)))} at most.`;
  return [
    h("p", {}, summary),
    figure(
      "Recovery after each trial",
      `Seconds from the end of each trial until the server was as fast as in its first one. ${summary}`,
      {
        width: 960,
        marginRight: narrow() ? 110 : 220,
        x: {
          label: "after trial",
          labelAnchor: "center",
          ticks: trials > 12 ? 10 : Array.from({ length: trials }, (_, i) => i + 1),
          tickFormat: "d",
        },
        y: { label: "seconds", ...up },
        marks: [
          gridY({ ticks: up.ticks }),
          ...series.flatMap(({ place, points }) => [
            line(points, {
              x: "trial",
              y: "seconds",
              stroke: color(place),
              strokeDasharray: dashes(place),
            }),
            dot(points, {
              x: "trial",
              y: "seconds",
              stroke: color(place),
              symbol: (point) => (point.never ? "times" : "circle"),
            }),
          ]),
          text(spaced(ends, up), {
            x: "trial",
            y: "place",
            text: narrow() ? "brief" : "name",
            textAnchor: "start",
            dx: 8,
            fill: (end) => end.color,
          }),
        ],
      },
      ["server", "after trial", "recovered after", "CPU time used after", "busy for"],
      report.contenders.flatMap(({ name, label, recoveries }) =>
        recoveries.map((each, i) => [
          format.short(label ?? name),
          String(i + 1),
          each.recovered_after_s === null ? "never" : format.duration(each.recovered_after_s),
          format.duration(each.cpu_burnt_s),
          `${each.idle === false ? "over " : ""}${format.duration(each.burnt_for_s)}`,
        ]),
      ),
    ),
  ];
}

/**
 * Whether a rate ended below the limit for good: in its last trials, or far below.
 * @param {number[]} list
 */
const fellForGood = (list) =>
  list.length < ALARM_FEWEST ? last(list) < COLLAPSED : Math.max(...list.slice(-3)) < DECAYED;

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
 * @param {Trial[]} trials
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

const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
const narrow = () => document.body.clientWidth < 800;

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

/** @param {Report} report */
function offered(report) {
  const rows = report.contenders.flatMap((contender) =>
    contender.offered.map((cell) => [
      contender.label ?? contender.name,
      format.integer(cell.connections),
      format.rate(cell.offered_rate_per_s),
      format.rate(cell.achieved_rate_per_s),
      format.milliseconds(cell.response.p50_us),
      format.milliseconds(cell.response.p99_us),
      format.milliseconds(cell.response.p99_9_us),
      format.milliseconds(cell.first_byte.p50_us),
      `${cell.trials_valid}/${cell.trials.length}`,
    ]),
  );
  if (!rows.length) return [];
  return [
    section("offered", "Response time at an offered rate", [
      h(
        "p",
        {},
        "From the time each request was due (open loop): the wait of a user when requests arrive at a fixed rate.",
      ),
      scrolling(
        "Response time at an offered rate",
        table(
          "Response time",
          [
            "server",
            "connections",
            "offered, requests/s",
            "achieved",
            "p50, ms",
            "p99, ms",
            "p99.9, ms",
            "first byte p50, ms",
            "valid trials",
          ],
          rows,
        ),
      ),
    ]),
  ];
}

/** @param {Report} report */
function capacity(report) {
  if (!report.capacities.length) return [];
  const slo = report.capacities[0].slo;
  return [
    section("capacity", `Highest rate within ${slo}`, [
      scrolling(
        "Capacity",
        table(
          `Highest rate within ${slo}`,
          [
            "server",
            "highest rate, requests/s",
            "next rate, not within",
            "per CPU",
            "per 100 MiB",
            "CPU, µs/request",
            "peak, MiB",
            "trials",
          ],
          report.capacities.map((capacity) => [
            capacity.name,
            format.rate(capacity.rate_per_s || null),
            format.rate(capacity.above_per_s),
            format.rate(capacity.rate_per_s_per_cpu),
            format.rate(capacity.rate_per_s_per_100_mib),
            format.microseconds(capacity.server_cpu_us_per_request),
            format.mebibytes(capacity.memory_peak_bytes),
            format.integer(capacity.trials),
          ]),
        ),
      ),
    ]),
  ];
}

/**
 * @param {string} id
 * @param {string} title
 * @param {Child} children
 */
function section(id, title, children) {
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}
