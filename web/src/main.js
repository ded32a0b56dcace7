// Renders the page from one document, which is embedded or sent by a server.

import { about } from "./about.js";
import { h } from "./dom.js";
import { loads } from "./loads.js";
import { overview } from "./overview.js";
import { panels } from "./panel.js";
import { firstChoice, linkedChoice, ranking } from "./ranking.js";
import { mainLevel, panelId } from "./rows.js";
import { encode, isState } from "./state.js";

/**
 * @import { Contender, Report } from "../build/document"
 * @import { Choice } from "./ranking.js"
 */

const NAME_MAX = 40;

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
const packed = document.getElementById("document")?.textContent.trim() ?? "";
/** @type {Choice | null} */
let chosen = null;
/** @type {Report | null} */
let shown = null;

/**
 * Shows a report document; the reader's choices and open panels stay.
 * @param {Report} report
 */
export function show(report) {
  shown = report;
  chosen ??= linkedChoice(report, fragment());
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
  const charts = overview(report, choice.connections);
  const remember = () => setFragment(encode(choice, firstChoice(report)));
  const onLevel = () => {
    remember();
    again();
  };
  let first = true;
  const rankingSection = races
    ? ranking(report, choice, onLevel, (kept) => {
        charts.draw(kept);
        if (!first) remember();
        first = false;
      })
    : null;
  page.replaceChildren(
    head(report, choice.connections),
    ...(rankingSection ? [rankingSection, facts(report), charts.section] : [facts(report)]),
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
  );
}

/** @param {Report} report */
function facts(report) {
  return h(
    "ul",
    { class: "facts" },
    report.heading.map((line) => h("li", { dir: "auto" }, line)),
  );
}

const fragment = () => location.hash.slice(1);

/**
 * Puts the choices into the address. The link of a panel stays as long as nothing is chosen.
 * @param {string} state
 */
function setFragment(state) {
  if (state !== fragment() && (state || isState(fragment())))
    history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
}

/** Follows a changed address: to its panel, or to its choices. */
function follow() {
  if (shown && isState(fragment())) {
    chosen = linkedChoice(shown, fragment());
    show(shown);
  } else openTarget();
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
  const target = document.getElementById(fragment());
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

addEventListener("hashchange", follow);
addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("a")?.hash === location.hash) openTarget();
});
window.deadheat = { show };
if (packed) {
  embedded().then(show).then(openTarget);
}
