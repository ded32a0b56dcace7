// Open loop: response times at offered rates, and the highest rate within an objective.

import { h, scrolling, section, table } from "./dom.js";
import * as numbers from "./numbers.js";

/** @import { Report } from "../build/document" */

/** @param {Report} report */
export function offered(report) {
  const rows = report.contenders.flatMap((contender) =>
    contender.offered.map((cell) => [
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
      scrolling(
        "Response time at an offered rate",
        table(
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
      scrolling(
        "Capacity",
        table(
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
      ),
    ]),
  ];
}
