// What some runs measure besides the ranking: workers, offered rates, capacity, decay.

import { dot, gridY, line, ruleX, ruleY, text } from "@observablehq/plot";
import { h, scrolling, table } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";
import { rowsAt } from "./rows.js";

const DECAYED = 0.9;
const FEWEST_TRIALS = 3;

export function loads(report, connections) {
  return [
    ...scaling(report, connections),
    ...decay(report, connections),
    ...offered(report),
    ...capacity(report),
  ];
}

function scaling(report, connections) {
  const curves = report.levels.find((one) => one.connections === connections)?.scaling ?? [];
  if (!curves.length) return [];
  return [
    section(
      "scaling",
      "Scaling with workers",
      curves.map((curve) => {
        const points = curve.points.filter((point) => point.rate_per_s);
        const name = format.short(
          curve.setting === "default" ? curve.server : `${curve.server}:${curve.setting}`,
        );
        const most = Math.max(...points.map((point) => point.workers));
        const first = points[0];
        const gain = (point) =>
          point.ratio_to_fewest ?? {
            ratio: point.rate_per_s / first.rate_per_s,
            low: null,
            high: null,
          };
        const bounded = points.filter((point) => gain(point).low !== null);
        return [
          figure(
            name,
            `Rate of ${name} by number of workers, as a multiple of that with ${first.workers}.`,
            {
              x: {
                label: "workers",
                ticks: points.map((point) => point.workers),
                tickFormat: String,
                domain: [0.5, most + 0.5],
              },
              y: { label: "times", zero: true, nice: true, ticks: 5 },
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
              point.rate_per_s ? format.figure(gain(point).ratio) : format.NONE,
              format.microseconds(point.server_cpu_us_per_request),
            ]),
          ),
          h(
            "ul",
            {},
            curve.text.map((line) => h("li", { dir: "auto" }, line)),
          ),
        ];
      }),
    ),
  ];
}

/** Gunther's law as fitted, relative to the first point. */
function law({ fit }, most, first) {
  if (!fit) return [];
  const [lambda, sigma, kappa] = [fit.rate_of_one_per_s, fit.contention, fit.coherency].map(
    (one) => one.value,
  );
  const rate = (n) => (lambda * n) / (1 + sigma * (n - 1) + kappa * n * (n - 1));
  return Array.from({ length: 41 }, (_, i) => {
    const n = first.workers + ((most - first.workers) * i) / 40;
    return [n, rate(n) / first.rate_per_s];
  });
}

/** The rate from trial to trial of one start, as a share of that start's first. */
function decay(report, connections) {
  const series = rowsAt(report, connections)
    .map((row) => ({ name: format.short(row.name), shares: shares(row.trials) }))
    .filter(({ shares: list }) => list.length >= FEWEST_TRIALS);
  if (!series.length) return [];
  const points = series.flatMap(({ name, shares: list }) =>
    list.map((share, i) => ({
      name,
      trial: i + 1,
      share: 100 * share,
      fell: list.at(-1) < DECAYED,
    })),
  );
  const fell = series.filter(({ shares: list }) => list.at(-1) < DECAYED);
  const ends = fell.map(({ name, shares: list }) => ({
    name,
    trial: list.length,
    share: 100 * list.at(-1),
  }));
  const most = Math.max(...points.map((point) => point.trial));
  const of = format.count(series.length, "server");
  const told = fell.length
    ? `${fell.length} of ${of} ended a start more than 10 % below its first trial: ${fell.map((one) => one.name).join("; ")}.`
    : `Of ${of} none ended a start more than 10 % below its first trial.`;
  const up = percents(points.map((point) => point.share));
  return [
    section("decay", "Over the life of a start", [
      h("p", { dir: "auto" }, told),
      figure(
        "Rate by trial since the start",
        `Each server's rate by trial since its start, in percent of that start's first trial, the mean over starts. ${told}`,
        {
          width: 960,
          marginRight: narrow() ? 110 : 220,
          x: {
            label: "trial since the start",
            labelAnchor: "center",
            ticks: most > 12 ? 10 : Array.from({ length: most }, (_, i) => i + 1),
            tickFormat: "d",
          },
          y: { label: "% of the first", ...up },
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
              fill: "var(--orange)",
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
    ]),
  ];
}

/** Geometric mean over starts of rate over first rate, trial by trial, where all starts have it. */
function shares(trials) {
  const starts = new Map();
  for (const trial of trials.filter((one) => one.rate_per_s)) {
    starts.set(trial.invocation, [...(starts.get(trial.invocation) ?? []), trial.rate_per_s]);
  }
  const lists = [...starts.values()];
  const length = Math.min(...lists.map((list) => list.length));
  if (!lists.length) return [];
  return Array.from({ length }, (_, i) =>
    Math.exp(lists.reduce((total, list) => total + Math.log(list[i] / list[0]), 0) / lists.length),
  );
}

const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
const narrow = () => document.getElementById("page").clientWidth < 800;

/** Plot's scale of percents: from 0, or by ratio where something more than doubled. */
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

/**
 * Ends of lines with a `place` for each name: as near to its end as names that do not touch allow,
 * those that would touch around their mean, none below the plane. `brief` fits a phone.
 */
function spaced(ends, { type, domain }) {
  const [to, from] = type === "log" ? [Math.log, Math.exp] : [Number, Number];
  const [low, high] = domain.map(to);
  const apart = (high - low) / 13;
  const first = ({ sum, count }) => Math.max(low, sum / count - (apart * (count - 1)) / 2);
  const sorted = [...ends].sort((a, b) => a.share - b.share);
  const blocks = [];
  for (const end of sorted) {
    let block = { sum: to(end.share), count: 1 };
    while (blocks.length && first(blocks.at(-1)) + apart * blocks.at(-1).count > first(block)) {
      const above = blocks.pop();
      block = { sum: above.sum + block.sum, count: above.count + block.count };
    }
    blocks.push(block);
  }
  const places = blocks.flatMap((block) =>
    Array.from({ length: block.count }, (_, i) => from(first(block) + apart * i)),
  );
  return sorted.map((end, i) => ({
    ...end,
    place: places[i],
    brief: end.name.length > 15 ? `${end.name.slice(0, 14)}…` : end.name,
  }));
}

function offered(report) {
  const rows = report.contenders.flatMap((one) =>
    one.offered.map((cell) => [
      one.label ?? one.name,
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
        "From the moment each request was due (open loop): what a user waits when others come whether it is served or not.",
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

function capacity(report) {
  if (!report.capacities.length) return [];
  const slo = report.capacities[0].slo;
  return [
    section("capacity", `The highest rate that held ${slo}`, [
      scrolling(
        "Capacity",
        table(
          `The highest rate that held ${slo}`,
          [
            "server",
            "held, requests/s",
            "not held",
            "per CPU",
            "per 100 MiB",
            "CPU, µs/request",
            "peak, MiB",
            "trials",
          ],
          report.capacities.map((one) => [
            one.name,
            format.rate(one.rate_per_s || null),
            format.rate(one.above_per_s),
            format.rate(one.rate_per_s_per_cpu),
            format.rate(one.rate_per_s_per_100_mib),
            format.microseconds(one.server_cpu_us_per_request),
            format.mebibytes(one.memory_peak_bytes),
            format.integer(one.trials),
          ]),
        ),
      ),
    ]),
  ];
}

function section(id, title, children) {
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}
