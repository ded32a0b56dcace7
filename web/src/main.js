// Renders the page from one document, which is embedded or sent by a server.

import { about, defects } from "./about.js";
import { h, list } from "./dom.js";
import { keep, place } from "./keep.js";
import { loads } from "./loads.js";
import { overview } from "./overview.js";
import { panels } from "./panel.js";
import { controlsOf, firstChoice, linkedChoice, ranking } from "./ranking.js";
import { mainLevel, panelId } from "./rows.js";
import { encode, isState } from "./state.js";
import { onWorkload, profile, workloadChoice } from "./workloads.js";

/**
 * @import { ContenderPart, LevelPart, Report } from "../build/document"
 * @import { Choice } from "./ranking.js"
 */

const NAME_MAX = 40;

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
const packed = document.getElementById("document")?.textContent.trim() ?? "";
/** @type {Choice | null} */
let chosen = null;
/** @type {Report | null} */
let shown = null;
let epoch = 0; // counts the links that were followed: each replaces all choices

/**
 * Shows a report document; the reader's choices and open panels stay.
 * @param {Report} whole
 */
export function show(whole) {
  shown = whole;
  chosen ??= linkedChoice(onWorkload(whole, whole.run.workloads[0]), fragment());
  const choice = chosen;
  if (!whole.run.workloads.includes(choice.workload)) choice.workload = whole.run.workloads[0];
  const report = onWorkload(whole, choice.workload);
  if (!report.levels.some((level) => level.connections === choice.connections)) {
    choice.connections = mainLevel(report);
  }
  const focused = document.activeElement?.id;
  const open = new Set([...page.querySelectorAll("details[open][id]")].map(({ id }) => id));
  const at = choice.connections;
  const again = () => show(shown ?? whole);
  const races =
    report.levels.some((level) =>
      level.standings.some((standing) => standing.rank_low || standing.ratio_to_leader),
    ) || report.contenders.some((contender) => contender.levels.length);
  const remember = () => setFragment(encode(choice, firstChoice(report)));
  const onLevel = () => {
    remember();
    again();
  };
  const first = firstChoice(report);
  // The ranking stays as long as its controls do: it draws new rows itself.
  const race = races
    ? keep("race", [choice.workload, at, epoch, controlsOf(report), [...first.shown]], () => {
        const charts = overview(at);
        const section = ranking(report, choice, onLevel, charts.draw, remember);
        return { charts, section };
      })
    : null;
  race?.section.update(report);
  const level = report.levels.find((each) => each.connections === at);
  const { levels, contenders } = report;
  place(page, [
    keep(
      "head",
      [
        ...[choice.workload, report.measured, level?.answer, level?.trust, level?.open],
        contenders.map(({ name }) => name),
      ],
      () => head(report, at),
    ),
    ...keep("workloads", [whole.run.workloads, choice.workload, whole.profile], () =>
      several(whole, choice, onLevel),
    ),
    ...(race ? [race.section.element] : []),
    keep("facts", report.heading, () => facts(report)),
    ...(race ? [race.charts.section] : []),
    ...keep("defects", report.defects, () => defects(report)),
    ...keep("loads", [at, levels, contenders, report.capacities, report.explanation], () =>
      loads(report, at),
    ),
    panels(report, at, open),
    ...keep("about", { ...report, contenders: 0, levels: 0, heading: 0 }, () => about(report)),
  ]);
  if (focused && document.activeElement?.id !== focused)
    document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * The profile and the choice of a workload, for a run of several.
 * @param {Report} whole
 * @param {Choice} choice
 * @param {() => void} onWorkload
 */
function several(whole, choice, onWorkload) {
  const choose = (/** @type {string} */ workload) => {
    choice.workload = workload;
    onWorkload();
  };
  return [profile(whole), workloadChoice(whole, choice.workload, choose)].filter(
    (part) => part !== null,
  );
}

/**
 * @param {Report} report
 * @param {number | null} connections
 */
function head(report, connections) {
  const level = report.levels.find((each) => each.connections === connections);
  const of = level && report.run.workloads.length > 1 ? `${level.workload}: ` : "";
  return h(
    "header",
    {},
    h("p", { class: "brand" }, "deadheat"),
    h(
      "h1",
      { dir: "auto" },
      level ? linked(`${of}${level.answer}.`, report.contenders) : "Nothing was measured.",
    ),
    level ? h("p", { class: "measured", dir: "auto" }, whole(report.measured)) : null,
    level?.trust ? h("p", { class: "trust", dir: "auto" }, `${whole(level.trust)}.`) : null,
    level ? openPoints(level) : null,
  );
}

/**
 * The first point with its command, and the others behind a summary.
 * @param {LevelPart} level
 */
function openPoints({ open, pairs }) {
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
  const rest = h("details", { class: "more" }, h("summary", {}, "More that is open"), list(others));
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
    chosen = linkedChoice(onWorkload(shown, shown.run.workloads[0]), fragment());
    epoch += 1;
    show(shown);
  } else openTarget();
}

/**
 * Keeps a number and its percent sign on one line.
 * @param {string} sentence
 */
const whole = (sentence) => sentence.replaceAll(" %", "\u00a0%");

/**
 * A sentence whose contender names link to their panels and stay on one line.
 * @param {string} sentence
 * @param {ContenderPart[]} contenders
 */
function linked(sentence, contenders) {
  const panels = new Map(contenders.map(({ label, name }, i) => [label ?? name, panelId(i)]));
  return whole(sentence)
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
