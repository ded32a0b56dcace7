// Latency by quantile, on an axis that gives the tail as much room as the middle.

import { dot, gridX, gridY, line, ruleX, text } from "@observablehq/plot";
import { figure, missing } from "./figure.js";
import { dashes, logTicks, spaced } from "./labels.js";
import { integer, milliseconds } from "./numbers.js";
import { last } from "./rows.js";

/** @import { LatencyPart } from "../build/document" */

/** @typedef {{ name: string, latency: LatencyPart, color: string }} Curve */

const FIRST = 0.1; // the fastest tenth would squeeze the rest of the curve
const TICKS = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
const NAMES = /** @type {const} */ (["p50", "p75", "p90", "p99", "p99_9", "p99_99"]);

/**
 * Those of the `curves` without data are left out.
 * @param {string} caption
 * @param {Curve[]} curves
 */
export function latencyFigure(caption, curves) {
  const drawn = curves.filter(
    ({ latency }) => latency.curve.filter(([q]) => q >= FIRST).length > 1,
  );
  if (!drawn.length) {
    return missing(
      caption,
      curves.some(({ latency }) => latency.requests)
        ? "The load generator printed no histogram; see its output below for quantiles."
        : "No request was timed.",
    );
  }
  const points = drawn.flatMap(({ name, latency }) =>
    latency.curve
      .filter(([q]) => q >= FIRST)
      .map(([q, us]) => ({ name, rarity: 1 / (1 - q), ms: us / 1000 })),
  );
  const most = Math.max(...points.map((point) => point.rarity));
  const [low, high] = [Math.min(...points.map((p) => p.ms)), Math.max(...points.map((p) => p.ms))];
  const ends = drawn.map(({ name, color, latency }) => ({
    name,
    color,
    rarity: 1 / (1 - last(latency.curve)[0]),
    ms: last(latency.curve)[1] / 1000,
  }));
  const ticks = logTicks(low, high);
  const rarities = TICKS.map((q) => 1 / (1 - q)).filter((rarity) => rarity <= most * 1.001);
  return figure(
    caption,
    `Time in milliseconds by quantile, ${drawn.map((curve) => curve.name).join(" and ")}.`,
    {
      marginRight: drawn.length > 1 ? 120 : 16,
      x: {
        type: "log",
        domain: [1 / (1 - FIRST), most],
        ticks: rarities,
        tickFormat: share,
        label: "share of requests at or below this latency, %",
      },
      y: { type: "log", domain: [ticks[0], ticks.at(-1)], ticks, tickFormat: String, label: "ms" },
      marks: [
        gridX({ ticks: rarities }),
        gridY({ ticks }),
        ruleX(
          MARKED.filter((rarity) => rarity <= most),
          { stroke: "var(--muted)", strokeDasharray: "2 4" },
        ),
        ...drawn.map(({ name, color }, i) =>
          line(
            points.filter((point) => point.name === name),
            {
              x: "rarity",
              y: "ms",
              stroke: color,
              strokeDasharray: dashes(i),
              strokeWidth: 2,
            },
          ),
        ),
        dot(ends, { x: "rarity", y: "ms", r: 3, fill: (end) => end.color }),
        drawn.length > 1
          ? text(
              spaced(
                ends.map((end) => ({ ...end, trial: end.rarity, share: end.ms })),
                { type: "log", domain: [ticks[0], Number(ticks.at(-1))], ticks },
              ),
              {
                x: most,
                y: "place",
                text: "brief",
                textAnchor: "start",
                dx: 8,
                fill: (end) => end.color,
              },
            )
          : null,
      ],
    },
    ["", "requests", ...NAMES.map((name) => `${name.replace("_", ".")}, ms`), "highest, ms"],
    drawn.map(({ name, latency }) => [
      name,
      integer(latency.requests),
      ...NAMES.map((quantile) => milliseconds(latency[`${quantile}_us`])),
      milliseconds(latency.max_us),
    ]),
  );
}

const MARKED = [0.5, 0.9, 0.99, 0.999].map((q) => 1 / (1 - q));

/** @param {number} rarity */
const share = (rarity) => String(Number((100 * (1 - 1 / rarity)).toPrecision(7)));
