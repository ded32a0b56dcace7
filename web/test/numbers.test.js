// The page writes what tests/number_cases.json lists as the Python reports do.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as numbers from "../src/numbers.js";

const CASES = JSON.parse(
  readFileSync(new URL("../../tests/number_cases.json", import.meta.url), "utf8"),
);
/** @type {Record<string, (...values: any[]) => unknown>} */
const FUNCTIONS = {
  printable: numbers.printable,
  rate: numbers.rate,
  figure: numbers.figure,
  milliseconds: numbers.milliseconds,
  microseconds: numbers.microseconds,
  mebibytes: numbers.mebibytes,
  percent: numbers.percent,
  of_leader: (ratio, low, high, ranked) => numbers.ofLeader({ ratio, low, high }, ranked),
  count: numbers.count,
  duration: numbers.duration,
  reading_and_limit: numbers.readingAndLimit,
  shell: numbers.shell,
};

test("every list of cases has a function", () => {
  assert.deepEqual(Object.keys(CASES).sort(), Object.keys(FUNCTIONS).sort());
});

for (const [name, formatted] of Object.entries(FUNCTIONS)) {
  for (const [values, text] of CASES[name] ?? []) {
    test(`${name} formats ${JSON.stringify(values)}`, () => {
      assert.deepEqual(formatted(...values), text);
    });
  }
}

test("a slider's value has the largest unit that keeps it above 1", () => {
  assert.deepEqual([87, 1500, 2.5e6].map(numbers.span), ["87 µs", "1.5 ms", "2.5 s"]);
});

test("a command keeps ~/ unquoted, which the document writes for the home folder", () => {
  assert.equal(numbers.shell(["~/builds/server", "--port=80"]), "~/builds/server --port=80");
});

test("a rank is an interval where several places are possible", () => {
  const ranks = [
    [1, 1],
    [2, 4],
    [null, null],
  ];
  assert.deepEqual(
    ranks.map(([low, high]) => numbers.rank({ rank_low: low, rank_high: high })),
    ["1", "2–4", "–"],
  );
});
