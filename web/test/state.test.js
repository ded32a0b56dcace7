// The reader's choices survive the way into the link and back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { markdown } from "../src/copy.js";
import { decode, encode, isState } from "../src/state.js";

const INITIAL = {
  workload: "hello",
  connections: 100,
  name: "",
  language: "",
  kind: "",
  sort: "rank",
  descending: false,
  fastFirst: false,
  own_us: 0,
  shown: new Set(["rate", "p99"]),
  comparison: null,
};
const isFastFirst = (/** @type {string} */ key) => key === "rate";

test("the initial choice needs no fragment", () => {
  assert.equal(encode(INITIAL, INITIAL), "");
  assert.deepEqual(decode("", INITIAL, isFastFirst), INITIAL);
});

test("every choice comes back from the fragment", () => {
  const choice = {
    workload: "route",
    connections: 10,
    name: "a&b=c #é",
    language: "C++",
    kind: "raw",
    sort: "rate",
    descending: false,
    fastFirst: true,
    own_us: 1500,
    shown: new Set(["cpu"]),
    comparison: "woo-2016",
  };
  assert.deepEqual(decode(encode(choice, INITIAL), INITIAL, isFastFirst), choice);
});

test("a column sorts in its own direction unless the link has another", () => {
  assert.equal(decode("sort=rate", INITIAL, isFastFirst).descending, true);
  assert.equal(decode("sort=p99", INITIAL, isFastFirst).descending, false);
  assert.equal(decode("sort=p99&order=descending", INITIAL, isFastFirst).descending, true);
});

test("values that are not numbers are ignored", () => {
  const { connections, own_us } = decode("level=x&own=-5", INITIAL, isFastFirst);
  assert.deepEqual([connections, own_us], [100, 0]);
});

test("the link of a panel holds no choices", () => {
  assert.equal(isState("server-3"), false);
  assert.equal(isState("level=10"), true);
});

test("Markdown escapes what would end a cell or become markup", () => {
  assert.equal(
    markdown(["a\nb", "c"], [["<b>|`x`", "1\n2"]], [false, true]),
    "| a b | c |\n| --- | ---: |\n| \\<b\\>\\|\\`x\\` | 1 2 |\n",
  );
});
