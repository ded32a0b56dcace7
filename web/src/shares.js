// Shares: the rate of each trial of an instance, as a share of its first one.

/** @import { Report, TrialPart } from "../build/document" */

/**
 * What the machine did: the geometric mean over the controls; empty without controls.
 * @param {Report} report
 * @param {number | null} connections
 */
export function controlShares(report, connections) {
  const lists = report.contenders
    .filter(({ role }) => role === "control")
    .map(({ levels }) => levels.find((level) => level.connections === connections))
    .map((cell) => shares(cell?.trials ?? []))
    .filter((list) => list.length);
  const length = lists.length ? Math.min(...lists.map((list) => list.length)) : 0;
  return Array.from({ length }, (_, i) =>
    Math.exp(lists.reduce((total, list) => total + Math.log(list[i]), 0) / lists.length),
  );
}

/**
 * For each trial that all instances have: the geometric mean of rate over first rate.
 * @param {TrialPart[]} trials
 */
export function shares(trials) {
  /** @type {Map<number, number[]>} */
  const rates = new Map();
  for (const { invocation, rate_per_s } of trials) {
    if (rate_per_s) rates.set(invocation, [...(rates.get(invocation) ?? []), rate_per_s]);
  }
  const lists = [...rates.values()];
  const length = Math.min(...lists.map((list) => list.length));
  if (!lists.length) return [];
  return Array.from({ length }, (_, i) =>
    Math.exp(lists.reduce((total, list) => total + Math.log(list[i] / list[0]), 0) / lists.length),
  );
}
