// The reader's choices as the fragment of the address: #level=100&sort=p99.

/** @import { Choice } from "./ranking.js" */

const ORDERS = /** @type {const} */ (["ascending", "descending"]);

/**
 * The fragment without "#", with only the choices that differ from the initial ones.
 * @param {Choice} choice
 * @param {Choice} initial
 */
export function encode(choice, initial) {
  const values = new URLSearchParams();
  const columns = [...choice.shown].sort().join(",");
  if (choice.workload !== initial.workload) values.set("workload", choice.workload);
  if (choice.connections !== initial.connections) values.set("level", String(choice.connections));
  if (choice.sort !== initial.sort || choice.descending !== initial.descending)
    values.set("sort", choice.sort);
  if (choice.descending !== choice.fastFirst) values.set("order", ORDERS[+choice.descending]);
  if (choice.own_us) values.set("own", String(choice.own_us));
  if (choice.name) values.set("name", choice.name);
  if (choice.language) values.set("language", choice.language);
  if (choice.kind) values.set("kind", choice.kind);
  if (choice.comparison !== initial.comparison && choice.comparison)
    values.set("comparison", choice.comparison);
  if (columns !== [...initial.shown].sort().join(",")) values.set("columns", columns);
  return values.toString();
}

/**
 * The choices that a fragment names; `initial` for all others. Unknown keys are ignored.
 * @param {string} fragment
 * @param {Choice} initial
 * @param {(key: string) => boolean} isFastFirst whether a column's first order is descending
 * @returns {Choice}
 */
export function decode(fragment, initial, isFastFirst) {
  const values = new URLSearchParams(fragment);
  const text = (/** @type {string} */ key) => values.get(key) ?? "";
  const sort = text("sort") || initial.sort;
  const fastFirst = isFastFirst(sort);
  const order = text("order");
  return {
    ...initial,
    workload: text("workload") || initial.workload,
    connections: /^\d+$/.test(text("level")) ? Number(text("level")) : initial.connections,
    sort,
    fastFirst,
    descending: order ? order === "descending" : fastFirst,
    own_us: microseconds(text("own")),
    name: text("name"),
    language: text("language"),
    kind: text("kind"),
    comparison: text("comparison") || initial.comparison,
    shown: values.has("columns")
      ? new Set(text("columns").split(",").filter(Boolean))
      : new Set(initial.shown),
  };
}

/**
 * Whether a fragment holds choices; others are the id of an element.
 * @param {string} fragment
 */
export const isState = (fragment) => fragment.includes("=");

/** @param {string} text */
function microseconds(text) {
  const us = Number(text);
  return Number.isFinite(us) && us > 0 ? us : 0;
}
