// "Does it matter?": a slider for the reader's own work per request. The chart follows it.

import { h } from "./dom.js";
import { percent, short, span } from "./numbers.js";
import { spread, usesCpuTime } from "./standing.js";

/**
 * @import { Row } from "./rows.js"
 * @import { Entry } from "./standing.js"
 */

const MOST_US = 100_000;
const STEPS = 500;

/**
 * @param {number} own_us
 * @param {(own_us: number) => void} onChange
 */
export function slider(own_us, onChange) {
  const input = h("input", {
    type: "range",
    id: "own-work",
    min: 0,
    max: STEPS,
    step: 1,
    value: step(own_us),
    "aria-valuetext": text(own_us),
  });
  const output = h("output", { for: "own-work" }, text(own_us));
  input.addEventListener("input", () => {
    const us = microseconds(Number(input.value));
    input.setAttribute("aria-valuetext", text(us));
    output.textContent = text(us);
    onChange(us);
  });
  return h(
    "p",
    { class: "slider" },
    h("label", { for: "own-work" }, h("strong", {}, "Does it matter?"), " My own work per request"),
    input,
    output,
  );
}

/**
 * What the slider's value means for the servers, in a sentence.
 * @param {Row[]} rows
 * @param {Entry[]} entries
 * @param {number} own_us
 * @param {string} margin as text
 */
export function meaning(rows, entries, own_us, margin) {
  if (!own_us)
    return [
      "As measured: each server only serves. Move the slider to the time that your own code takes for a request.",
    ];
  const { compared, close, slowest } = spread(entries);
  if (!slowest?.ratio) return ["No server has a rate."];
  return [
    "With ",
    h("strong", {}, span(own_us)),
    ` of your own, ${close} of ${compared} servers ${close === 1 ? "is" : "are"} within ${margin} of the best; the slowest, `,
    h("span", { dir: "auto" }, short(slowest.row.name)),
    ", gets through ",
    h("strong", {}, percent(slowest.ratio.ratio)),
    ` of what the best does. Estimated from the ${usesCpuTime(rows) ? "CPU time" : "time"} of the servers per request.`,
  ];
}

/** @param {number} own_us */
const text = (own_us) => (own_us ? span(own_us) : "none");

/**
 * Microseconds at a step: logarithmic from 1 µs, and 0 at the left end. Three digits, as in the link.
 * @param {number} at
 */
function microseconds(at) {
  return at === 0 ? 0 : Number((10 ** (Math.log10(MOST_US) * (at / STEPS))).toPrecision(3));
}

/** @param {number} us */
function step(us) {
  return us <= 0
    ? 0
    : Math.min(STEPS, Math.max(1, Math.round((STEPS * Math.log10(us)) / Math.log10(MOST_US))));
}
