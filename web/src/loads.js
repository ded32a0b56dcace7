// Sections that only some runs have: explanation, scaling, handshakes, decay, offered rates, capacity.

import { decay } from "./decay.js";
import { section, table } from "./dom.js";
import { explanation } from "./explain.js";
import { footprints } from "./footprint.js";
import * as numbers from "./numbers.js";
import { capacity, commonRates, offered } from "./offered.js";
import { scaling } from "./scaling.js";

/** @import { Report } from "../build/document" */

/**
 * @param {Report} report
 * @param {number | null} connections
 */
export function loads(report, connections) {
  return [
    ...explanation(report),
    ...scaling(report, connections),
    ...handshakes(report),
    ...decay(report, connections),
    ...commonRates(report),
    ...offered(report),
    ...capacity(report),
    ...footprints(report, connections),
  ];
}

/**
 * Handshakes of TLS, where each request has a connection.
 * @param {Report} report
 */
function handshakes({ handshakes: made }) {
  if (!made.length) return [];
  const head = [
    ...["server", "connections", "handshakes/s", "p50, ms", "p99, ms"],
    "CPU time of the whole connection, µs",
  ];
  const rows = made.map((row) => [
    row.name,
    numbers.integer(row.connections),
    numbers.rate(row.per_s),
    numbers.milliseconds(row.us_p50),
    numbers.milliseconds(row.us_p99),
    numbers.microseconds(row.server_cpu_us),
  ]);
  return [
    section("handshakes", "Handshakes", [
      table("Handshakes", "Handshakes of TLS, by server", head, rows),
    ]),
  ];
}
