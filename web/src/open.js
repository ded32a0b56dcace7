// What a level leaves open, and what to type next.

import { h } from "./dom.js";

/** @import { LevelPart } from "../build/document" */

/**
 * The first point with its command, and the others behind a summary.
 * @param {LevelPart} level
 */
export function openPoints({ open, pairs }) {
  const label = h("strong", {}, "Open: ");
  if (!open.length)
    return pairs.length
      ? h("p", { class: "open" }, label, "nothing. Every neighboring pair is decided.")
      : null;
  const [first, ...others] = open.map(({ text, figures, command }) => [
    sentence(text, figures),
    command ? ": " : ".",
    command ? h("code", { dir: "ltr" }, command) : null,
  ]);
  const rest = h(
    "details",
    { class: "more" },
    h("summary", {}, "More that is open"),
    h(
      "ul",
      {},
      others.map((point) => h("li", { dir: "auto" }, point)),
    ),
  );
  return h(
    "div",
    { class: "open" },
    h("p", { dir: "auto" }, label, first),
    others.length ? rest : null,
  );
}

/**
 * `a ~ b, 3.8 % [-2, 9], 7 min`, with each number and its percent sign on one line.
 * @param {string} text
 * @param {string} figures
 */
function sentence(text, figures) {
  const parts = [text, ...figures.replace(/:$/, "").split("  ")].filter(Boolean);
  return parts.join(", ").replaceAll(" %", "\u00a0%");
}
