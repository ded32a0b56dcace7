// What the charts of the page show: their range, their unit of time and their colors.

import assert from "node:assert/strict";
import { test } from "node:test";
import { curveColors, languageColors } from "../src/language.js";
import { around, blockOf, raceUnit } from "../src/overview.js";
import { onWorkload } from "../src/workloads.js";

/** @param {(string | null)[]} languages */
const report = (...languages) =>
  /** @type {any} */ ({ contenders: languages.map((language) => ({ language })) });

test("a chart around 100 % uses its height", () => {
  const [low, high] = around([88, 92, 97], 100);
  assert.ok(low > 80 && low < 88, `${low}`);
  assert.ok(high > 100 && high < 105, `${high}`);
});

test("a chart of nearly equal values does not magnify noise", () => {
  const [low, high] = around([99.9, 100.1], 100);
  assert.ok(high - low >= 9);
});

test("a run of a minute is in seconds, one of an hour in minutes", () => {
  const unit = (/** @type {number} */ elapsed_s) =>
    raceUnit(/** @type {any} */ ({ run: { elapsed_s } })).name;
  assert.deepEqual([unit(60), unit(3600)], ["second", "minute"]);
});

test("the curves of a language have the hue of its bars", () => {
  const of = report("Go", "Rust", "Python", null);
  const colorOf = curveColors(of);
  for (const [language, { hue }] of languageColors(of))
    assert.match(colorOf({ language }), new RegExp(`^hsl\\(${hue} `));
  assert.equal(colorOf({ language: null }), "var(--muted)");
});

test("a language keeps its color on each workload", () => {
  const whole = report("Go", "Java", "Rust");
  const part = { ...report("Go", "Rust"), everyone: whole.contenders };
  assert.deepEqual(languageColors(part), languageColors(whole));
});

test("bug: blocks of a race in slices vanished, because each server numbers its starts", () => {
  /** @type {(kind: string, invocation: number, heat?: number) => string} */
  const block = (kind, invocation, heat = 1) =>
    blockOf(/** @type {any} */ ({ run: { protocol: { kind } } }))(
      /** @type {any} */ ({ invocation, heat, block: 5 }),
    );
  assert.equal(block("slices", 1), block("slices", 2));
  assert.notEqual(block("trials", 1), block("trials", 2));
  assert.notEqual(block("trials", 1, 1), block("trials", 1, 2));
});

test("bug: a workload showed the common rates of all", () => {
  const workloads = ["hello", "json"];
  const rates = workloads.map((workload) => ({ workload }));
  const none = { levels: [], cautions: [], handshakes: [], conclusions: [] };
  const whole = /** @type {any} */ ({ ...report(), ...none, run: { workloads }, rates });
  assert.deepEqual(onWorkload(whole, "json").rates, [{ workload: "json" }]);
});
