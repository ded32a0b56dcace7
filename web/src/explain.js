// What servers do for a request: the gaps between them, signs of mistakes, and counts.

import { h, scrolling, section, table } from "./dom.js";
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

/** @param {number | null | undefined} value */
const count = (value) =>
  value === null || value === undefined ? numbers.NONE : numbers.fixed(value, 2);

/** @param {Report} report */
export function explanation(report) {
  const { explanation } = report;
  if (!explanation) return [];
  const rows = explanation.servers.map((server) => {
    const parts = server.per_request;
    const us = (/** @type {number | null | undefined} */ value) =>
      numbers.microseconds(value ?? null);
    return [
      server.name,
      us(server.user_us === null ? null : server.user_us + (server.system_us ?? 0)),
      us(server.user_us),
      us(server.system_us),
      ...["reads", "writes", "waits", "futexes", "timers"].map((kind) => count(server.calls[kind])),
      count(parts?.voluntary_switches),
      count(parts?.involuntary_switches),
      count(parts?.page_faults),
      count(parts?.packets_in),
      count(parts?.packets_out),
      count(parts?.bytes_in),
      numbers.integer(server.counted.allocated_bytes ?? null),
    ];
  });
  const listed = (/** @type {string[]} */ texts) =>
    texts.length
      ? h(
          "ul",
          {},
          texts.map((text) => h("li", { dir: "auto" }, text)),
        )
      : null;
  return [
    section("explanation", "What a request takes", [
      listed(explanation.gaps.map(({ text }) => text)),
      scrolling("What a request takes", table("Of one request, on average", HEADERS, rows)),
      listed(
        explanation.signs.map(({ contender, text, fix }) => `${contender}: ${text}. Fix: ${fix}.`),
      ),
      listed([...explanation.details, ...explanation.left_out]),
    ]),
  ];
}
