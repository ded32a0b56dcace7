// What servers take up: time to start, memory, build, dependencies; and rate against memory.

import { dot, initializer, text } from "@observablehq/plot";
import { h, section, table } from "./dom.js";
import { figure } from "./figure.js";
import * as numbers from "./numbers.js";
import { rowsAt } from "./rows.js";

/** @import { ContenderPart, Footprint, Report, MeanOfStarts } from "../build/document" */

const MIB = 1024 * 1024;

/**
 * @param {Report} report
 * @param {number | null} connections
 */
export function footprints(report, connections) {
  const found = report.contenders.filter(
    ({ footprint, role }) => role === "contender" && footprint?.idle_bytes,
  );
  if (!found.length) return [];
  return [
    section("footprint", "Footprint", [
      h(
        "p",
        {},
        "Memory is anonymous and shared memory of all processes, without page cache and sockets. In brackets: the half width of the interval over the starts.",
      ),
      tableOf(found),
      ...picture(report, connections),
    ]),
  ];
}

/** @param {ContenderPart[]} contenders */
function tableOf(contenders) {
  const all = contenders.flatMap(({ footprint }) => footprint?.connections ?? []);
  const levels = [...new Set(all.map(({ connections }) => connections))].sort((a, b) => a - b);
  const rows = contenders.map(({ name, label, footprint }) => {
    const own = /** @type {Footprint} */ (footprint);
    return [
      label ?? name,
      spread(own.ready_s, 1e-3),
      spread(own.idle_bytes, MIB),
      ...levels.map((level) => {
        const at = own.connections.find((each) => each.connections === level);
        return at && !at.bytes ? `served ${numbers.integer(at.held)}` : spread(at?.bytes, MIB);
      }),
      ...(levels.length ? [spread(own.bytes_per_connection, 1024)] : []),
      numbers.mebibytes(own.peak_bytes),
      numbers.mebibytes(own.build_bytes),
      numbers.integer(own.dependencies),
      numbers.integer(own.processes),
      numbers.integer(own.threads),
    ];
  });
  const headers = [
    ...["server", "start, ms", "idle, MiB"],
    ...levels.map((level) => `${numbers.integer(level)} idle connections, MiB`),
    ...(levels.length ? ["KiB per connection"] : []),
    ...["peak, MiB", "build, MiB", "locked packages", "processes", "threads"],
  ];
  return table("Footprint", "Footprint", headers, rows);
}

/**
 * `12.3 [0.4]`: the mean, and half the width of its interval.
 * @param {MeanOfStarts | null | undefined} value
 * @param {number} unit
 */
function spread(value, unit) {
  if (!value) return numbers.NONE;
  const mean = numbers.figure(value.mean / unit);
  if (value.low === null) return mean;
  return `${mean} [${Number(((value.mean - value.low) / unit).toPrecision(2))}]`;
}

const LETTER = 6.2; // px, about the width of a letter
const BESIDE = [-10, 12, -22, 24, -34, 36]; // px above or below a dot

/** Names near their dots, within the chart and, where there is room, apart from each other. */
const named = initializer(
  { x: "memory", y: "rate", text: "name" },
  (data, facets, channels, scales, { width }) => {
    /** @type {{ x: number, y: number, half: number }[]} */
    const placed = [];
    const values = /** @type {Record<"x" | "y", { value: number[] }>} */ (channels);
    const at = (/** @type {"x" | "y"} */ axis, /** @type {number} */ i) =>
      Number(scales[axis]?.(values[axis].value[i]));
    for (const [i, { name }] of [...data].entries()) {
      const half = (LETTER * name.length) / 2;
      const x = Math.max(half, Math.min(width - half, at("x", i)));
      const free = BESIDE.map((dy) => at("y", i) + dy).find((y) =>
        placed.every((other) => {
          const beside = Math.abs(other.x - x) > other.half + half;
          return beside || Math.abs(other.y - y) >= 11;
        }),
      );
      placed.push({ x, y: free ?? at("y", i) + BESIDE[0], half });
    }
    const all = /** @param {"x" | "y"} axis */ (axis) => placed.map((place) => place[axis]);
    return { data, facets, channels: { x: { value: all("x") }, y: { value: all("y") } } };
  },
);

/**
 * The rate of each server against its peak memory.
 * @param {Report} report
 * @param {number | null} connections
 */
function picture(report, connections) {
  const points = rowsAt(report, connections).flatMap(({ name, rate, memory }) =>
    rate && memory ? [{ name, rate, memory: memory / MIB }] : [],
  );
  if (points.length < 2) return [];
  return [
    figure(
      "Rate against peak memory",
      `Requests/s and peak memory of ${numbers.count(points.length, "server")}: up and to the left is better.`,
      {
        width: 900,
        height: 330,
        marginTop: 36, // room for names above the highest dot
        x: { type: "log", label: "peak memory, MiB", tickFormat: numbers.tick },
        y: { type: "log", label: "requests/s", tickFormat: numbers.tick, grid: true },
        marks: [
          dot(points, { x: "memory", y: "rate", r: 4, fill: "currentColor" }),
          text(points, named),
        ],
      },
      ["server", "requests/s", "peak, MiB"],
      points.map(({ name, rate, memory }) => [
        name,
        numbers.rate(rate),
        numbers.mebibytes(memory * MIB),
      ]),
    ),
  ];
}
