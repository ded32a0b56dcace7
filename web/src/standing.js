// What the chart shows for each row: its ratio to the best, and the band that it belongs to.
// "Does it matter?" is here: the same ratios when each request also takes the reader's own work.

import { isKnown } from "./numbers.js";
import { last } from "./rows.js";

/**
 * @import { Ratio } from "../build/document"
 * @import { Row } from "./rows.js"
 */

/**
 * @typedef {object} Entry
 * @property {Row} row
 * @property {Ratio | null} ratio to the best; ends are null if the interval is unknown
 * @property {number | null} band equal for adjacent rows of one band
 */

/**
 * The rows as measured. A band is a dead heat.
 * @param {Row[]} rows
 * @returns {Entry[]}
 */
export function measured(rows) {
  const leader = rows.find((row) => row.standing.ratio_to_leader?.ratio === 1)?.rate;
  const best = leader ?? Math.max(1, ...rows.map((row) => row.rate ?? 0));
  return rows.map((row) => ({
    row,
    ratio:
      row.standing.ratio_to_leader ??
      (row.rate ? { ratio: row.rate / best, low: null, high: null } : null),
    band: row.ranked ? row.standing.group : null,
  }));
}

/**
 * The rows with `own_us` microseconds of own work in each request, the best first. A band holds the
 * ranked rows within the margin of the best. Rows without a rank come last.
 * @param {Row[]} rows
 * @param {number} own_us
 * @param {number} margin
 * @returns {Entry[]}
 */
export function withWork(rows, own_us, margin) {
  const time_us = timePerRequest(rows);
  const ranks = rows.some((row) => row.ranked);
  const counts = (/** @type {Row} */ row) => (ranks ? row.ranked : row.valid > 0);
  const timed = rows.filter((row) => time_us(row) !== null);
  const first = timed.some(counts) ? timed.filter(counts) : timed;
  const least_us = Math.min(...first.map((row) => Number(time_us(row)))) + own_us;
  const entries = rows.map((row) => {
    const us = time_us(row);
    return { row, ratio: us === null ? null : shifted(row, us, own_us, least_us), band: null };
  });
  const order = (/** @type {Entry} */ { row, ratio }) =>
    (counts(row) ? 10 : 0) + (ratio?.ratio ?? -1);
  return entries
    .sort((a, b) => order(b) - order(a))
    .map((entry) => ({
      ...entry,
      band: isClose(entry, margin) && counts(entry.row) ? 1 : null,
    }));
}

/**
 * @param {Entry} entry
 * @param {number} margin
 */
const isClose = ({ ratio }, margin) => (ratio?.ratio ?? 0) >= 1 - margin;

/**
 * The ratio with own work. An interval of the rate's ratio is one of the time per request.
 * @param {Row} row
 * @param {number} us
 * @param {number} own_us
 * @param {number} least_us
 * @returns {Ratio}
 */
function shifted(row, us, own_us, least_us) {
  const ratio = row.standing.ratio_to_leader;
  const with_us = (/** @type {number} */ time_us) => least_us / (time_us + own_us);
  const known = ratio && row.ranked && isKnown(ratio);
  return {
    ratio: with_us(us),
    low: known ? with_us((us * ratio.ratio) / Number(ratio.low)) : null,
    high: known ? with_us((us * ratio.ratio) / Number(ratio.high)) : null,
  };
}

/**
 * Microseconds per request: CPU time where all rows with a rate have it, else the inverse rate.
 * @param {Row[]} rows
 * @returns {(row: Row) => number | null}
 */
function timePerRequest(rows) {
  const byCpu = usesCpuTime(rows);
  return (row) => (row.rate ? (byCpu ? Number(row.cpu) : 1e6 / row.rate) : null);
}

/** @param {Row[]} rows */
export const usesCpuTime = (rows) => rows.every((row) => !row.rate || row.cpu);

/**
 * How many ranked rows are close to the best, and the slowest of them.
 * @param {Entry[]} entries
 */
export function spread(entries) {
  const ranks = entries.some(({ row }) => row.ranked);
  const compared = entries.filter(
    ({ row, ratio }) => ratio && (ranks ? row.ranked : row.valid > 0),
  );
  return {
    compared: compared.length,
    close: compared.filter(({ band }) => band !== null).length,
    slowest: compared.length ? last(compared) : null,
  };
}
