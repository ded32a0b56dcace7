// The ranking's rows at one level: each a standing with its contender's numbers.

/** @import { CellPart, ContenderPart, LatencyPart, PublishedRate, PublishedRow, Report, StandingPart, TrialPart } from "../build/document" */

/**
 * @typedef {object} Row
 * @property {number} place
 * @property {string} panel
 * @property {StandingPart} standing
 * @property {ContenderPart} contender
 * @property {CellPart | undefined} cell
 * @property {string} name
 * @property {boolean} ranked
 * @property {number | null} rate
 * @property {Quantiles} service
 * @property {Quantiles} firstByte
 * @property {Quantiles} response
 * @property {number | null} cpu
 * @property {number | null} memory
 * @property {number} errors
 * @property {TrialPart[]} trials
 * @property {number} valid
 * @typedef {Pick<LatencyPart, "p50_us" | "p99_us">} Quantiles
 */

const EMPTY = { p50_us: null, p99_us: null };

/**
 * @param {Report} report
 * @param {number | null} connections
 * @returns {Row[]}
 */
export function rowsAt(report, connections) {
  const level = report.levels.find((each) => each.connections === connections);
  const contenders = new Map(report.contenders.map((contender) => [contender.name, contender]));
  const panels = new Map(report.contenders.map(({ name }, i) => [name, panelId(i)]));
  return (level?.standings ?? []).map((standing, place) => {
    const contender = /** @type {ContenderPart} */ (contenders.get(standing.name));
    const cell = contender.levels.find((each) => each.connections === connections);
    return {
      place,
      panel: panels.get(standing.name) ?? "",
      standing,
      contender,
      cell,
      name: contender.label ?? contender.name,
      ranked: standing.rank_low !== null,
      rate: cell?.rate_per_s ?? null,
      service: cell?.service ?? EMPTY,
      firstByte: cell?.first_byte ?? EMPTY,
      response: response(contender, connections),
      cpu: cell?.server_cpu_us_per_request ?? null,
      memory: largest(contender),
      errors: sum(Object.values(cell?.errors ?? {})),
      trials: cell?.trials ?? [],
      valid: cell?.trials_valid ?? 0,
    };
  });
}

/**
 * The connections of the last level that has a rate.
 * @param {Report} report
 */
export function mainLevel(report) {
  const levels = report.levels.map((each) => each.connections);
  return (
    levels.findLast((connections) => rowsAt(report, connections).some((row) => row.rate)) ??
    levels.at(-1) ??
    null
  );
}

/**
 * The id of the i-th contender's panel.
 * @param {number} i
 */
export const panelId = (i) => `server-${i}`;

/**
 * The published comparisons that contenders repeat, most repeated first.
 * @param {Report} report
 */
export function comparisons(report) {
  const names = report.contenders.flatMap((contender) =>
    contender.published.map((row) => row.comparison),
  );
  const comparisons = [...new Set(names)];
  const uses = (/** @type {string} */ name) => names.filter((other) => other === name).length;
  return comparisons.sort((a, b) => uses(b) - uses(a));
}

/**
 * The published rate at a level, of the row with the contender's setting where there is one.
 * @param {ContenderPart} contender
 * @param {string} comparison
 * @param {number | null} connections
 */
export function published(contender, comparison, connections) {
  const rows = contender.published.filter((row) => row.comparison === comparison);
  const row = rows.find((each) => each.setting === contender.setting) ?? rows[0];
  const figure = row?.rates.find((each) => each.connections === connections);
  return figure ? { ...figure, row } : null;
}

/**
 * Latency at the middle one of the offered rates (open loop).
 * @param {ContenderPart} contender
 * @param {number | null} connections
 */
function response(contender, connections) {
  const offered = contender.offered.filter(
    (cell) => cell.kind === "latency" && cell.connections === connections,
  );
  return offered[Math.floor(offered.length / 2)]?.response ?? EMPTY;
}

/** @param {ContenderPart} contender */
function largest(contender) {
  const trials = [...contender.levels, ...contender.offered].flatMap((cell) => cell.trials);
  const peaks = trials.map((trial) => trial.memory_peak_bytes).filter((peak) => peak !== null);
  return peaks.length ? Math.max(...peaks) : null;
}

/**
 * The last item of a list that is not empty.
 * @template T
 * @param {T[]} items
 */
export const last = (items) => items[items.length - 1];

/** @param {number[]} values */
export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
