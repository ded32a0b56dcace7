// Scaling: the rate of each server by number of workers, with the fitted scalability law.

import { dot, gridY, line, ruleX } from "@observablehq/plot";
import { h, section } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";

/** @import { Report, Scaling, ScalingPoint } from "../build/document" */

/**
 * @typedef {ScalingPoint & { rate_per_s: number }} Point a point that has a rate
 */

/**
 * @param {Report} report
 * @param {number | null} connections
 */
export function scaling(report, connections) {
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
