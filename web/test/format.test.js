// The page formats what tests/report/format_cases.json lists as the Python reports do.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as format from "../src/format.js";

const CASES = JSON.parse(
  readFileSync(new URL("../../tests/report/format_cases.json", import.meta.url), "utf8"),
);
/** @type {Record<string, (...values: any[]) => unknown>} */
const FUNCTIONS = {
  plain: format.plain,
  rate: format.rate,
  figure: format.figure,
  milliseconds: format.milliseconds,
  microseconds: format.microseconds,
  mebibytes: format.mebibytes,
  percent: format.percent,
  count: format.count,
  duration: format.duration,
  reading_and_limit: format.readingAndLimit,
  shell: format.shell,
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
  assert.deepEqual([87, 1500, 2.5e6].map(format.span), ["87 µs", "1.5 ms", "2.5 s"]);
});

test("a command keeps ~/ unquoted, which the document writes for the home folder", () => {
  assert.equal(format.shell(["~/builds/server", "--port=80"]), "~/builds/server --port=80");
});

test("a rank is an interval where several places are possible", () => {
  const ranks = [
    [1, 1],
    [2, 4],
    [null, null],
  ];
  assert.deepEqual(
    ranks.map(([low, high]) => format.rank({ rank_low: low, rank_high: high })),
    ["1", "2–4", "–"],
  );
});

test("a ratio to the leader leaves out an interval that says nothing", () => {
  const ratios = [
    { ratio: 0.759, low: 0.666, high: 0.866 },
    { ratio: 1, low: 1, high: 1 },
    { ratio: 12, low: 0.1, high: 40 },
    { ratio: 0.5, low: null, high: null },
    null,
  ];
  assert.deepEqual(
    ratios.map((ratio) => format.ofLeader(ratio, true)),
    ["75.9 [66.6–86.6]", "100", "1200.0 [unknown]", "50.0 [unknown]", "–"],
  );
});
