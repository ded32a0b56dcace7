// Open loop: response times at offered rates, and the highest rate within an objective.

import { h, section, table } from "./dom.js";
import * as numbers from "./numbers.js";

/** @import { RateStandingPart, Report } from "../build/document" */

const COMMON_RATE = "common_rate";
const MEASURES = {
  cost: {
    words: "CPU time per request",
    headers: ["CPU, µs/request", "times the least", "CPU cores", "price of a million requests"],
    cells: (/** @type {RateStandingPart} */ each) => [
      numbers.microseconds(each.value_us),
      times(each),
      figure(each.cores),
      figure(each.price_per_million),
    ],
  },
  wait: {
    words: "p99 response time",
    headers: ["p99, ms", "times the least", "p50, ms", "p99.9, ms"],
    cells: (/** @type {RateStandingPart} */ each) => [
      numbers.milliseconds(each.value_us),
      times(each),
      numbers.milliseconds(each.p50_us),
      numbers.milliseconds(each.p99_9_us),
    ],
  },
};

const figure = (/** @type {number | null} */ value) =>
  value === null ? numbers.NONE : numbers.figure(value);

/**
 * `1.23 [1.20, 1.27]`
 * @param {RateStandingPart} standing
 */
function times({ times_least: least }) {
  if (!least) return numbers.NONE;
  if (least.ratio === 1 && least.low === 1) return "1";
  const known = least.low !== null && least.high !== null && numbers.isKnown(least);
  const ends = known ? `[${least.low?.toFixed(2)}, ${least.high?.toFixed(2)}]` : "[unknown]";
  return `${least.ratio.toFixed(2)} ${ends}`;
}

/**
 * At each common rate a table by CPU time, and one by response time.
 * @param {Report} report
 */
export function commonRates(report) {
  if (!report.rates.length) return [];
  const tables = report.rates.map((order) => {
    const { words, headers, cells } = MEASURES[order.measure];
    const title = `At ${numbers.rate(order.offered_rate_per_s)} requests/s and ${numbers.count(order.connections, "connection")}, by ${words}`;
    const rows = order.standings.map((each) => [
      each.rank_low === null ? numbers.NONE : numbers.rank(each),
      each.name,
      ...cells(each),
      numbers.rate(each.reached_per_s),
      each.reason ?? "",
    ]);
    const all = ["rank", "server", ...headers, "reached, requests/s", "not ranked because"];
    return [h("h3", {}, title), table(title, title, all, rows)];
  });
  return [
    section("common-rates", "What the same traffic costs", [
      h(
        "p",
        {},
        "All servers were offered the same requests/s (open loop). A time counts from the moment each request was due. The intervals of a table hold together.",
      ),
      ...report.conclusions
        .filter(({ topic }) => topic === "idle CPUs")
        .map(({ text }) => h("p", {}, text)),
      ...tables.flat(),
    ]),
  ];
}

/** @param {Report} report */
export function offered(report) {
  const rows = report.contenders.flatMap((contender) =>
    contender.offered
      .filter((cell) => cell.kind !== COMMON_RATE)
      .map((cell) => [
        contender.label ?? contender.name,
        numbers.integer(cell.connections),
        numbers.rate(cell.offered_rate_per_s),
        numbers.rate(cell.achieved_rate_per_s),
        numbers.milliseconds(cell.response.p50_us),
        numbers.milliseconds(cell.response.p99_us),
        numbers.milliseconds(cell.response.p99_9_us),
        numbers.milliseconds(cell.first_byte.p50_us),
        `${cell.trials_valid}/${cell.trials.length}`,
      ]),
  );
  if (!rows.length) return [];
  return [
    section("offered", "Response time at an offered rate", [
      h(
        "p",
        {},
        "From the time each request was due (open loop): the wait of a user when requests arrive at a fixed rate.",
      ),
      table(
        "Response time at an offered rate",
        "Response time",
        [
          "server",
          "connections",
          "offered, requests/s",
          "achieved",
          "p50, ms",
          "p99, ms",
          "p99.9, ms",
          "first byte p50, ms",
          "valid trials",
        ],
        rows,
      ),
    ]),
  ];
}

/** @param {Report} report */
export function capacity(report) {
  if (!report.capacities.length) return [];
  const slo = report.capacities[0].slo;
  return [
    section("capacity", `Highest rate within ${slo}`, [
      table(
        "Capacity",
        `Highest rate within ${slo}`,
        [
          "server",
          "highest rate, requests/s",
          "next rate, not within",
          "per CPU",
          "per 100 MiB",
          "CPU, µs/request",
          "peak, MiB",
          "trials",
        ],
        report.capacities.map((capacity) => [
          capacity.name,
          numbers.rate(capacity.rate_per_s || null),
          numbers.rate(capacity.above_per_s),
          numbers.rate(capacity.rate_per_s_per_cpu),
          numbers.rate(capacity.rate_per_s_per_100_mib),
          numbers.microseconds(capacity.server_cpu_us_per_request),
          numbers.mebibytes(capacity.memory_peak_bytes),
          numbers.integer(capacity.trials),
        ]),
      ),
    ]),
  ];
}
