// A row's ratio to the leader: a bar with its interval, on one scale for all rows.

import { svg } from "./dom.js";
import { isKnown } from "./format.js";

/** @import { Row } from "./rows.js" */

/** @typedef {{ leader: number, most: number }} Scale */

const WIDTH = 128;
const HEIGHT = 22;
const MIDDLE = HEIGHT / 2;
const PAD = 6;
const FADE = 8; // parts of a line that fades out
const STEPS = [0.5, 1, 2, 5, 10, 20, 50, 100]; // of the axis, which has room for three ticks

/**
 * The bar of one row; `scale` has the leader's rate and the largest ratio.
 * @param {Row} row
 * @param {Scale} scale
 */
export function whisker(row, scale) {
  const { ratio } = row.standing.ratio_to_leader ?? {};
  const x = place(scale);
  const length = ratio ?? (row.rate ?? 0) / scale.leader;
  return svg(
    "svg",
    { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    svg("rect", {
      class: row.cell?.doubtful === false ? "bar" : "bar doubtful",
      x: x(0),
      y: MIDDLE - 4,
      width: Math.max(0, x(length) - x(0)),
      height: 8,
    }),
    interval(row, length, scale),
    row.ranked ? svg("circle", { class: "point", cx: x(length), cy: MIDDLE, r: 3 }) : null,
  );
}

/**
 * The interval of a row. An unknown one fades out on both sides, and so does an end beyond the
 * scale: without a line the row would look certain.
 * @param {Row} row
 * @param {number} length
 * @param {Scale} scale
 */
function interval(row, length, scale) {
  const ratio = row.standing.ratio_to_leader;
  const x = place(scale);
  if (!ratio || ratio.low === ratio.high) return null;
  if (!isKnown(ratio))
    return row.ranked ? [fade(x(length), x(0)), fade(x(length), x(scale.most))] : null;
  const [low, high] = [Number(ratio.low), Number(ratio.high)];
  const beyond = high > scale.most;
  const end = beyond ? (Math.max(low, length) + scale.most) / 2 : high;
  return [
    line(x(low), x(end), MIDDLE, MIDDLE),
    beyond ? fade(x(end), x(scale.most)) : line(x(high), x(high), MIDDLE - 5, MIDDLE + 5),
    line(x(low), x(low), MIDDLE - 5, MIDDLE + 5),
  ];
}

/**
 * A line that fades out from one end to the other.
 * @param {number} from
 * @param {number} to
 */
function fade(from, to) {
  const at = (/** @type {number} */ i) => from + ((to - from) * i) / FADE;
  return Array.from({ length: FADE }, (_, i) =>
    line(at(i), at(i + 1), MIDDLE, MIDDLE, {
      class: "interval unknown",
      "stroke-opacity": (1 - i / FADE).toFixed(2),
    }),
  );
}

/**
 * @param {number} x1
 * @param {number} x2
 * @param {number} y1
 * @param {number} y2
 * @param {Record<string, string>} attributes
 */
function line(x1, x2, y1, y2, attributes = { class: "interval" }) {
  return svg("line", { ...attributes, x1, x2, y1, y2 });
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
