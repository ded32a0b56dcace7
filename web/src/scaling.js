// Scaling: the rate of each server by number of workers.

import { dot, gridY, line, ruleX } from "@observablehq/plot";
import { h, section } from "./dom.js";
import { figure } from "./figure.js";
import { curveColors } from "./language.js";
import * as numbers from "./numbers.js";

/** @import { Report, ScalingPoint } from "../build/document" */

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
  const inColor = curveColors(report);
  const colorOf = (/** @type {string} */ server) =>
    inColor(report.contenders.find((each) => each.server === server) ?? { language: null });
  return [
    section(
      "scaling",
      "Scaling with workers",
      curves.map((curve) => {
        const points = curve.points.flatMap((point) =>
          point.rate_per_s ? [{ ...point, rate_per_s: point.rate_per_s }] : [],
        );
        const name = numbers.short(
          curve.setting === "default" ? curve.server : `${curve.server}:${curve.setting}`,
        );
        const most = Math.max(...points.map((point) => point.workers));
        const first = points[0];
        const text = curve.text.map((sentence) => h("p", { dir: "auto" }, sentence));
        if (!first) return text;
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
            `Rate of ${name} by number of workers, relative to ${numbers.count(first.workers, "worker")}.`,
            {
              x: {
                label: "workers",
                ticks: points.map((point) => point.workers),
                tickFormat: String,
                domain: [0.5, most + 0.5],
              },
              y: {
                label: `times ${numbers.count(first.workers, "worker")}`,
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
                  fill: colorOf(curve.server),
                }),
                curve.cpus && curve.cpus < most
                  ? ruleX([curve.cpus + 0.5], { stroke: "var(--orange)", strokeDasharray: "4 3" })
                  : null,
              ],
            },
            ["workers", "requests/s", "times", "CPU, µs/request"],
            curve.points.map((point) => [
              numbers.integer(point.workers),
              numbers.rate(point.rate_per_s),
              point.rate_per_s
                ? numbers.figure(gain({ ...point, rate_per_s: point.rate_per_s }).ratio)
                : numbers.NONE,
              numbers.microseconds(point.server_cpu_us_per_request),
            ]),
          ),
          text,
        ];
      }),
    ),
  ];
}
