// A server over time: the rate of each trial, and what the server took of CPU and memory.

import { dot, gridY, line, ruleX, ruleY, text } from "@observablehq/plot";
import { figure, missing } from "./figure.js";
import { count, duration, mebibytes, rate } from "./words.js";

const MIB = 1024 * 1024;

/** Every trial's rate at its time in the run, its windows as a fine line; starts are ruled off. */
export function rateFigure(trials, median) {
  const caption = "Rate over time";
  const measured = trials.filter((trial) => trial.rate_per_s);
  if (!measured.length) return missing(caption, "No trial ended with a rate.");
  const middle = (trial) => trial.at_s + (trial.series?.rate_at_s.at(-1) ?? 0) / 2;
  const windows = measured.flatMap((trial, i) => (trial.series?.rate_at_s ?? []).map((at, j) =>
    ({ trial: i, at_s: trial.at_s + at, rate: trial.series.rate_per_s[j] })));
  const marked = (valid) => measured.filter((trial) => trial.valid === valid);
  return figure(caption, `Requests per second of ${measured.length} trials over the run; filled: valid, hollow: failed a check.`, {
    x: { label: "since the run began, s", ticks: 6, nice: true },
    y: { label: "requests/s", zero: true, nice: true, ticks: 5, tickFormat: short },
    marks: [
      gridY({ ticks: 5 }),
      ruleX(starts(measured), { stroke: "var(--muted)", strokeDasharray: "2 4" }),
      text(starts(measured), { x: (at) => at, text: (_, i) => `start ${i + 1}`, frameAnchor: "top", textAnchor: "start", dx: 3, fill: "var(--muted)" }),
      median ? ruleY([median], { stroke: "var(--muted)" }) : null,
      line(windows, { x: "at_s", y: "rate", z: "trial", stroke: "var(--blue)", strokeOpacity: 0.45, strokeWidth: 1 }),
      dot(marked(true), { x: middle, y: "rate_per_s", r: 3.5, fill: "var(--blue)" }),
      dot(marked(false), { x: middle, y: "rate_per_s", r: 3.5, stroke: "var(--orange)", fill: "var(--ground)", strokeWidth: 1.5 }),
    ],
  }, ["at", "start", "block", "requests/s", "answered", "checks"],
  trials.map((trial) => [duration(trial.at_s), String(trial.invocation), String(trial.block),
    rate(trial.rate_per_s), count(trial.requests_ok),
    trial.valid ? "passed" : trial.gates_failed.map((gate) => gate.code).join(", ") || trial.reason || "failed"]));
}

export function cpuFigure(trials) {
  const caption = "CPU over time";
  const points = usage(trials, (series, i) => series.cpu_cores[i]);
  return usageFigure(caption, "CPUs in use by the server's whole process tree", points, "CPUs in use",
    (value) => value.toFixed(2));
}

export function memoryFigure(trials) {
  const points = usage(trials, (series, i) => series.memory_bytes[i] / MIB);
  return usageFigure("Memory over time", "Memory of the server's whole process tree", points, "MiB",
    (value) => mebibytes(value * MIB));
}

function usageFigure(caption, label, points, unit, written) {
  if (!points.length) return missing(caption, "The host did not tell.");
  return figure(caption, `${label}, by trial over the run.`, {
    x: { label: "since the run began, s", ticks: 6, nice: true },
    y: { label: unit, zero: true, nice: true, ticks: 5 },
    marks: [
      gridY({ ticks: 5 }), ruleY([0], { stroke: "var(--line)" }),
      line(points, { x: "at_s", y: "value", z: "trial", stroke: "var(--green)" }),
      dot(points, { x: "at_s", y: "value", r: 2.5, fill: "var(--green)" }),
    ],
  }, ["at", unit], points.map((point) => [duration(point.at_s), written(point.value)]));
}

function usage(trials, value) {
  return trials.flatMap((trial, i) => (trial.series?.usage_at_s ?? []).map((at, j) =>
    ({ trial: i, at_s: trial.at_s + at, value: value(trial.series, j) })));
}

/** When each start's first trial began. */
function starts(trials) {
  const first = new Map();
  for (const trial of trials) if (!first.has(trial.invocation)) first.set(trial.invocation, trial.at_s);
  return first.size > 1 ? [...first.values()] : [];
}

export const short = (value) => (value >= 10_000 ? `${Math.round(value / 1000)}k` : value >= 1000 ? `${value / 1000}k` : String(value));
