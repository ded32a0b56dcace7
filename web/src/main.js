// Renders the page from one document, which is embedded or sent by a server.

import { about } from "./about.js";
import { h } from "./dom.js";
import { loads } from "./loads.js";
import { matter } from "./matter.js";
import { panels } from "./panel.js";
import { firstChoice, ranking } from "./ranking.js";
import { mainLevel, panelId } from "./rows.js";

/**
 * @import { Contender, Report } from "../build/document"
 * @import { Choice } from "./ranking.js"
 */

const NAME_MAX = 40;

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
const packed = document.getElementById("document")?.textContent.trim() ?? "";
/** @type {Choice | null} */
let chosen = null;

/**
 * Shows a report document; the reader's choices and open panels stay.
 * @param {Report} report
 */
export function show(report) {
  chosen ??= firstChoice(report);
  const choice = chosen;
  if (!report.levels.some((level) => level.connections === choice.connections)) {
    choice.connections = mainLevel(report);
  }
  const focused = document.activeElement?.id;
  const open = new Set([...page.querySelectorAll("details[open][id]")].map(({ id }) => id));
  const again = () => show(report);
  const races =
    report.levels.some((level) =>
      level.standings.some((standing) => standing.rank_low || standing.ratio_to_leader),
    ) || report.contenders.some((contender) => contender.levels.length);
  page.replaceChildren(
    head(report, choice.connections),
    ...(races ? [ranking(report, choice, again), matter(report, choice.connections)] : []),
    ...loads(report, choice.connections),
    panels(report, choice.connections, open),
    ...about(report),
  );
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * @param {Report} report
 * @param {number | null} connections
 */
function head(report, connections) {
  const level = report.levels.find((each) => each.connections === connections);
  return h(
    "header",
    {},
    h("p", { class: "brand" }, "deadheat"),
    h(
      "h1",
      { dir: "auto" },
      level ? linked(`${level.answer}.`, report.contenders) : "Nothing was measured.",
    ),
    level?.trust ? h("p", { class: "trust", dir: "auto" }, `${level.trust}.`) : null,
    h(
      "ul",
      { class: "facts" },
      report.heading.map((line) => h("li", { dir: "auto" }, line)),
    ),
  );
}

/**
 * A sentence whose contender names link to their panels and stay on one line.
 * @param {string} sentence
 * @param {Contender[]} contenders
 */
function linked(sentence, contenders) {
  const panels = new Map(contenders.map(({ label, name }, i) => [label ?? name, panelId(i)]));
  return sentence
    .replaceAll(" %", "\u00a0%")
    .split(/( )/)
    .map((word) => {
      const [, name, mark] = /^(.*?)([,.:]*)$/s.exec(word) ?? ["", word, ""];
      return panels.has(name) && name.length <= NAME_MAX
        ? h("span", { class: "whole" }, h("a", { href: `#${panels.get(name)}` }, name), mark)
        : word;
    });
}

/** Opens the panel that the address names. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary")?.focus({ preventScroll: true });
  }
}

async function embedded() {
  const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(unpacked).text());
}

addEventListener("hashchange", openTarget);
addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("a")?.hash === location.hash) openTarget();
});
window.deadheat = { show };
if (packed) {
  embedded().then(show).then(openTarget);
}
