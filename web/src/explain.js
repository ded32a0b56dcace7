// What servers do for a request: the gaps between them, signs of mistakes, and counts.

import { list, section, table } from "./dom.js";
import * as numbers from "./numbers.js";

/** @import { Report } from "../build/document" */

const HEADERS = [
  "server",
  "CPU, µs",
  "own code, µs",
  "kernel, µs",
  "reads",
  "writes",
  "waits",
  "futexes",
  "timers",
  "switches, voluntary",
  "switches, involuntary",
  "page faults",
  "packets in",
  "packets out",
  "bytes in",
  "bytes allocated",
];

/** @param {Report} report */
export function explanation(report) {
  const { explanation } = report;
  if (!explanation) return [];
  const rows = explanation.servers.map((server) => {
    const parts = server.per_request;
    return [
      server.name,
      numbers.microseconds(
        server.user_us === null ? null : server.user_us + (server.system_us ?? 0),
      ),
      numbers.microseconds(server.user_us),
      numbers.microseconds(server.system_us),
      ...["reads", "writes", "waits", "futexes", "timers"].map((kind) =>
        numbers.hundredths(server.calls[kind]),
      ),
      numbers.hundredths(parts?.voluntary_switches),
      numbers.hundredths(parts?.involuntary_switches),
      numbers.hundredths(parts?.page_faults),
      numbers.hundredths(parts?.packets_in),
      numbers.hundredths(parts?.packets_out),
      numbers.hundredths(parts?.bytes_in),
      numbers.integer(server.counted.allocated_bytes),
    ];
  });
  return [
    section("explanation", "What a request takes", [
      list(explanation.gaps.map(({ text }) => text)),
      table("What a request takes", "Of one request, on average", HEADERS, rows),
      list(
        explanation.signs.map(({ contender, text, fix }) => `${contender}: ${text}. Fix: ${fix}.`),
      ),
      list([...explanation.details, ...explanation.left_out]),
    ]),
  ];
}
