// A server over time: the rate of each trial, and what the server took of CPU and memory.

import { dot, gridY, line, ruleX, ruleY, text } from "@observablehq/plot";
import { figure, missing } from "./figure.js";
import { duration, integer, mebibytes, rate } from "./format.js";
import { sum } from "./rows.js";

const MIB = 1024 * 1024;
const OWN_TIME = "its own seconds under load, gaps left out";

/** Trials one after the other: `begins_s[i]` is where the i-th stands on its server's own clock. */
function clock(trials) {
  const lengths = trials.map(
    ({ series }) => Math.max(series?.rate_at_s.at(-1) ?? 0, series?.usage_at_s.at(-1) ?? 0) || 1,
  );
  return {
    lengths,
    begins_s: lengths.map((_, i) => sum(lengths.slice(0, i))),
    domain: [0, sum(lengths)],
  };
}

/** Where a trial's point stands on the line of its windows, if it has one. */
function middle_s({ series }, length_s) {
  const at = series?.rate_at_s ?? [];
  return at.length ? (at[0] + at.at(-1)) / 2 : length_s / 2;
}

/** Every trial's rate, its windows as a fine line; starts are ruled off. */
export function rateFigure(trials, middle) {
  const caption = "Rate over time";
  if (!trials.some((trial) => trial.rate_per_s))
    return missing(caption, "No trial ended with a rate.");
  const { begins_s, lengths, domain } = clock(trials);
  const points = trials
    .map((trial, i) => ({
      at_s: begins_s[i] + middle_s(trial, lengths[i]),
      rate: trial.rate_per_s,
      valid: trial.valid,
    }))
    .filter((point) => point.rate);
  const windows = trials.flatMap(({ series }, i) =>
    (series?.rate_at_s ?? []).map((at, j) => ({
      trial: i,
      at_s: begins_s[i] + at,
      rate: series.rate_per_s[j],
    })),
  );
  const starts = firsts(trials).map((i) => ({
    at_s: begins_s[i],
    name: `start ${trials[i].invocation}`,
  }));
  const early = ({ at_s }) => at_s < 0.8 * domain[1];
  return figure(
    caption,
    `Requests per second of ${points.length} trials; filled: valid, hollow: failed a check.`,
    {
      x: { label: OWN_TIME, ticks: 6, domain },
      y: { label: "requests/s", zero: true, nice: true, ticks: 5, tickFormat: short },
      marks: [
        gridY({ ticks: 5 }),
        ruleY([0], { stroke: "var(--line)" }),
        ruleX(starts, { x: "at_s", stroke: "var(--muted)", strokeDasharray: "2 4" }),
        ...(starts.length < 8
          ? [
              named(starts.filter(early), "start"),
              named(
                starts.filter((start) => !early(start)),
                "end",
              ),
            ]
          : []),
        middle ? ruleY([middle], { stroke: "var(--muted)" }) : null,
        line(windows, {
          x: "at_s",
          y: "rate",
          z: "trial",
          stroke: "var(--blue)",
          strokeOpacity: 0.6,
          strokeWidth: 1,
        }),
        dot(
          points.filter((point) => point.valid),
          { x: "at_s", y: "rate", r: 3.5, fill: "var(--blue)" },
        ),
        dot(
          points.filter((point) => !point.valid),
          {
            x: "at_s",
            y: "rate",
            r: 3.5,
            stroke: "var(--orange)",
            fill: "var(--ground)",
            strokeWidth: 1.5,
          },
        ),
      ],
    },
    ["began at", "start", "block", "requests/s", "answered", "checks"],
    trials.map((trial) => [
      duration(trial.at_s),
      String(trial.invocation),
      String(trial.block),
      rate(trial.rate_per_s),
      integer(trial.requests_ok),
      trial.valid
        ? "passed"
        : trial.gates_failed.map((gate) => gate.code).join(", ") || trial.reason || "failed",
    ]),
  );
}

/** A start's name beside its rule: before it where there is no room behind. */
const named = (starts, textAnchor) =>
  text(starts, {
    x: "at_s",
    text: "name",
    frameAnchor: "bottom",
    textAnchor,
    dx: textAnchor === "start" ? 3 : -3,
    dy: -3,
    fill: "var(--muted)",
  });

export function cpuFigure(trials) {
  return usageFigure(
    "CPU over time",
    "CPUs in use by the server's whole process tree",
    "CPUs in use",
    trials,
    ({ cpu_cores }, i) => cpu_cores[i],
    (value) => value.toFixed(2),
  );
}

export function memoryFigure(trials) {
  return usageFigure(
    "Memory over time",
    "Memory of the server's whole process tree",
    "MiB",
    trials,
    ({ memory_bytes }, i) => memory_bytes[i] / MIB,
    (value) => mebibytes(value * MIB),
  );
}

function usageFigure(caption, label, unit, trials, value, written) {
  const { begins_s, domain } = clock(trials);
  const points = trials.flatMap(({ at_s, series }, i) =>
    (series?.usage_at_s ?? []).map((at, j) => ({
      trial: i,
      run_s: at_s + at,
      at_s: begins_s[i] + at,
      value: value(series, j),
    })),
  );
  if (!points.length) return missing(caption, "The host did not tell.");
  return figure(
    caption,
    `${label}, by trial.`,
    {
      x: { label: OWN_TIME, ticks: 6, domain },
      y: { label: unit, zero: true, nice: true, ticks: 5 },
      marks: [
        gridY({ ticks: 5 }),
        ruleY([0], { stroke: "var(--line)" }),
        ruleX(
          firsts(trials).map((i) => begins_s[i]),
          { stroke: "var(--muted)", strokeDasharray: "2 4" },
        ),
        line(points, { x: "at_s", y: "value", z: "trial", stroke: "var(--green)" }),
        dot(points, { x: "at_s", y: "value", r: 2.5, fill: "var(--green)" }),
      ],
    },
    ["at, of the run", unit],
    points.map((point) => [duration(point.run_s), written(point.value)]),
  );
}

/** The first trial of each start, where there are several starts. */
function firsts(trials) {
  const found = trials
    .map((_, i) => i)
    .filter((i) => i === 0 || trials[i].invocation !== trials[i - 1].invocation);
  return found.length > 1 ? found : [];
}

const short = (value) =>
  value >= 1000 ? `${Number((value / 1000).toPrecision(3))}k` : String(value);
