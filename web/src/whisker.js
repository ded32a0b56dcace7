// A row's ratio to the leader: a bar with its interval, on one scale for all rows.

import { svg } from "./dom.js";

/** @import { Row } from "./rows.js" */

/** @typedef {{ leader: number, most: number }} Scale */

const WIDTH = 128;
const HEIGHT = 22;
const PAD = 6;
const STEPS = [0.5, 1, 2, 5, 10, 20, 50, 100]; // of the axis, which has room for three ticks

/**
 * The bar of one row; `scale` has the leader's rate and the largest ratio.
 * @param {Row} row
 * @param {Scale} scale
 */
export function whisker(row, scale) {
  const { ratio, low, high } = row.standing.ratio_to_leader ?? {};
  const x = place(scale);
  const middle = HEIGHT / 2;
  const length = ratio ?? (row.rate ?? 0) / scale.leader;
  const known = low && high && high <= 30 * low;
  return svg(
    "svg",
    { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    svg("rect", {
      class: row.cell?.doubtful === false ? "bar" : "bar doubtful",
      x: x(0),
      y: middle - 4,
      width: Math.max(0, x(length) - x(0)),
      height: 8,
    }),
    known && low !== high
      ? [
          svg("line", {
            class: "interval",
            x1: x(low),
            x2: x(Math.min(high, scale.most)),
            y1: middle,
            y2: middle,
          }),
          ...[low, Math.min(high, scale.most)].map((end) =>
            svg("line", {
              class: "interval",
              x1: x(end),
              x2: x(end),
              y1: middle - 5,
              y2: middle + 5,
            }),
          ),
        ]
      : null,
    row.ranked ? svg("circle", { class: "point", cx: x(length), cy: middle, r: 3 }) : null,
  );
}

/** @param {Scale} scale */
export function whiskerAxis(scale) {
  const x = place(scale);
  const step = STEPS.find((each) => scale.most / each < 3) ?? scale.most;
  const ticks = [0, 1, 2].map((i) => i * step).filter((tick) => tick <= scale.most);
  return svg(
    "svg",
    {
      width: WIDTH,
      height: HEIGHT,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": "bar with interval",
    },
    ticks.map((tick) => [
      svg("line", { class: "tick", x1: x(tick), x2: x(tick), y1: HEIGHT - 4, y2: HEIGHT }),
      svg(
        "text",
        { x: x(tick), y: HEIGHT - 8, "text-anchor": tick === 0 ? "start" : "middle" },
        String(100 * tick),
      ),
    ]),
  );
}

/** @param {Scale} scale */
function place(scale) {
  return (/** @type {number} */ ratio) => PAD + (ratio / scale.most) * (WIDTH - 3 * PAD);
}
