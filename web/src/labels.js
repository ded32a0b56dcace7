// Places for the names at the ends of lines, so that none overlaps another.

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

/**
 * Adds to each line's end a `place` for its name: close to the end, without overlap, and not below
 * the axis. Names that would overlap are centered on their mean. `brief` fits a phone.
 * @template {End} T
 * @param {T[]} ends
 * @param {Percents} scale
 */
export function spaced(ends, { type, domain }) {
  const [to, from] = type === "log" ? [Math.log, Math.exp] : [Number, Number];
  const [low, high] = domain.map(to);
  const apart = (high - low) / 13;
  const first = (/** @type {Block} */ { sum, count }) =>
    Math.max(low, sum / count - (apart * (count - 1)) / 2);
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
