// The lines of a chart: their colors and dashes, places for their names, and ticks.

import { last } from "./rows.js";

/**
 * @typedef {{ name: string, trial: number, share: number }} End
 * @typedef {{ sum: number, count: number }} Block
 * @typedef {object} Percents
 * @property {"linear" | "log"} type
 * @property {[number, number]} domain
 * @property {number | number[]} ticks
 * @property {(value: number) => string} [tickFormat]
 */

const DASHES = ["none", "8 3", "2 3", "8 3 2 3", "5 2", "12 4"];

/**
 * A dash pattern, so that lines of one language differ.
 * @param {number} place
 */
export const dashes = (place) => DASHES[place % DASHES.length];

/** Whether only brief names fit beside a chart. */
export const narrow = () => document.body.clientWidth < 800;

/**
 * Adds to each line's end a `place` for its name: close to the end, without overlap, and within
 * the chart. Names that would overlap are centered on their mean. `brief` fits a phone.
 * @template {End} T
 * @param {T[]} ends
 * @param {Percents} scale
 */
export function spaced(ends, { type, domain }) {
  const [to, from] = type === "log" ? [Math.log, Math.exp] : [Number, Number];
  const [low, high] = domain.map(to);
  const apart = (high - low) / 13;
  const first = (/** @type {Block} */ { sum, count }) =>
    Math.max(low, Math.min(high - apart * (count - 1), sum / count - (apart * (count - 1)) / 2));
  const sorted = [...ends].sort((a, b) => a.share - b.share);
  /** @type {Block[]} */
  const blocks = [];
  for (const end of sorted) {
    let block = { sum: to(end.share), count: 1 };
    while (blocks.length && first(last(blocks)) + apart * last(blocks).count > first(block)) {
      const above = last(blocks);
      blocks.length -= 1;
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

/**
 * Ticks around `low` and `high`: 1, 2 and 5 of each decade, or only 1 over a wide range.
 * @param {number} low
 * @param {number} high
 */
export function logTicks(low, high) {
  const steps = high / low > 200 ? [1] : [1, 2, 5];
  const first = Math.floor(Math.log10(low));
  const all = Array.from({ length: 12 }, (_, i) =>
    steps.map((step) => Number(`${step}e${first + i}`)),
  ).flat();
  const begin = all.findLastIndex((tick) => tick <= low);
  const end = all.findIndex((tick) => tick >= high);
  return all.slice(Math.max(begin, 0), end + 1);
}
