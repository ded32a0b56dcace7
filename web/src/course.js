// Charts over time: the rate of each trial, and the server's CPU and memory.

import { dot, gridY, line, ruleX, ruleY, text } from "@observablehq/plot";
import { figure, missing } from "./figure.js";
import { duration, fixed, integer, mebibytes, rate, tick } from "./numbers.js";
import { last, sum } from "./rows.js";

/** @import { Series, TrialPart } from "../build/document" */

const MIB = 1024 * 1024;
const LOADED_S = "seconds under load, without the pauses";

/**
 * Trials one after the other, without the pauses: `begins_s[i]` is the start of the i-th.
 * @param {TrialPart[]} trials
 */
function timeline(trials) {
  const lengths = trials.map(
    ({ series, elapsed_s }) =>
      Math.max(series?.rate_at_s.at(-1) ?? 0, series?.usage_at_s.at(-1) ?? 0) || elapsed_s || 1,
  );
  return {
    lengths,
    begins_s: lengths.map((_, i) => sum(lengths.slice(0, i))),
    domain: [0, sum(lengths)],
  };
}

/**
 * How many trials have a series, where it is not all of them: a document holds so many at most.
 * @param {TrialPart[]} trials
 */
export function sampled(trials) {
  const measured = trials.filter(({ rate_per_s }) => rate_per_s).length;
  const shown = trials.filter(({ rate_per_s, series }) => rate_per_s && series).length;
  if (!shown || shown === measured) return "";
  return ` Values within trials: ${shown} of ${integer(measured)} trials, evenly over the race; --all-series has all.`;
}

/**
 * Seconds from a trial's start to the middle of its windows.
 * @param {TrialPart} trial
 * @param {number} length_s
 */
function middle_s({ series }, length_s) {
  const at = series?.rate_at_s ?? [];
  return at.length ? (at[0] + last(at)) / 2 : length_s / 2;
}

/**
 * The rate of each trial, of its windows as a thin line, and a rule where an instance starts.
 * @param {TrialPart[]} trials
 * @param {number | null} middle
 */
export function rateFigure(trials, middle) {
  const caption = "Rate over time";
  if (!trials.some((trial) => trial.rate_per_s))
    return missing(caption, "No trial ended with a rate.");
  const { begins_s, lengths, domain } = timeline(trials);
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
      rate: series?.rate_per_s[j],
    })),
  );
  const starts = firsts(trials).map((i) => ({
    at_s: begins_s[i],
    name: `instance ${trials[i].invocation}`,
  }));
  const early = (/** @type {{ at_s: number }} */ { at_s }) => at_s < 0.8 * domain[1];
  return figure(
    caption,
    `Requests per second of ${points.length} trials; filled: valid, hollow: failed a check.${sampled(trials)}`,
    {
      x: { label: LOADED_S, ticks: 6, domain },
      y: { label: "requests/s", zero: true, nice: true, ticks: 5, tickFormat: tick },
      marks: [
        gridY({ ticks: 5 }),
        ruleY([0], { stroke: "var(--line)" }),
        ruleX(starts, { x: "at_s", stroke: "var(--muted)", strokeDasharray: "2 4" }),
        ...(starts.length < 8
          ? [
              label(starts.filter(early), "start"),
              label(
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
          stroke: "var(--series, var(--blue))",
          strokeOpacity: 0.6,
          strokeWidth: 1,
        }),
        dot(
          points.filter((point) => point.valid),
          { x: "at_s", y: "rate", r: 3.5, fill: "var(--series, var(--blue))" },
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
    ["start", "instance", "block", "requests/s", "answered requests", "checks"],
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

/**
 * An instance's name beside its rule; to the left (`end`) near the right edge.
 * @param {object[]} starts
 * @param {"start" | "end"} textAnchor
 */
const label = (starts, textAnchor) =>
  text(starts, {
    x: "at_s",
    text: "name",
    frameAnchor: "bottom",
    textAnchor,
    dx: textAnchor === "start" ? 3 : -3,
    dy: -3,
    fill: "var(--muted)",
  });

/** @param {TrialPart[]} trials */
export function cpuFigure(trials) {
  return usageFigure(
    "CPU over time",
    "CPUs in use by the server's process tree",
    "CPUs in use",
    trials,
    ({ cpu_cores }, i) => cpu_cores[i],
    (value) => fixed(value, 2),
  );
}

/** @param {TrialPart[]} trials */
export function memoryFigure(trials) {
  return usageFigure(
    "Memory over time",
    "Memory of the server's process tree",
    "MiB",
    trials,
    ({ memory_bytes }, i) => memory_bytes[i] / MIB,
    (value) => mebibytes(value * MIB),
  );
}

/**
 * @param {string} caption
 * @param {string} label
 * @param {string} unit
 * @param {TrialPart[]} trials
 * @param {(series: Series, i: number) => number} value
 * @param {(value: number) => string} written
 */
function usageFigure(caption, label, unit, trials, value, written) {
  const { begins_s, domain } = timeline(trials);
  const points = trials.flatMap(({ at_s, series }, i) =>
    series
      ? series.usage_at_s.map((at, j) => ({
          trial: i,
          run_s: at_s + at,
          at_s: begins_s[i] + at,
          value: value(series, j),
        }))
      : [],
  );
  if (!points.length) return null; // no empty frame
  return figure(
    caption,
    `${label} under load, by trial.${sampled(trials)}`,
    {
      x: { label: LOADED_S, ticks: 6, domain },
      y: { label: unit, zero: true, nice: true, ticks: 5 },
      marks: [
        gridY({ ticks: 5 }),
        ruleY([0], { stroke: "var(--line)" }),
        ruleX(
          firsts(trials).map((i) => begins_s[i]),
          { stroke: "var(--muted)", strokeDasharray: "2 4" },
        ),
        line(points, { x: "at_s", y: "value", z: "trial", stroke: "var(--series, var(--green))" }),
        dot(points, { x: "at_s", y: "value", r: 2.5, fill: "var(--series, var(--green))" }),
      ],
    },
    ["time in the run", unit],
    points.map((point) => [duration(point.run_s), written(point.value)]),
  );
}

/**
 * The index of the first trial of each instance, where there are several instances.
 * @param {TrialPart[]} trials
 */
function firsts(trials) {
  const starts = trials
    .map((_, i) => i)
    .filter((i) => i === 0 || trials[i].invocation !== trials[i - 1].invocation);
  return starts.length > 1 ? starts : [];
}
