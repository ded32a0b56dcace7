// The page: rendered from one document, which the file holds or a server sends.

import { about } from "./about.js";
import { h } from "./dom.js";
import { loads } from "./loads.js";
import { matter } from "./matter.js";
import { panels } from "./panel.js";
import { firstChoice, ranking } from "./ranking.js";
import { mainLevel, panelId } from "./rows.js";

const NAME_MAX = 40;

const page = document.getElementById("page");
let chosen = null;

/** Show a report document; what the reader has chosen and opened stays. */
export function show(report) {
  chosen ??= firstChoice(report);
  if (!report.levels.some((level) => level.connections === chosen.connections)) {
    chosen.connections = mainLevel(report);
  }
  const focused = document.activeElement?.id;
  const open = new Set([...page.querySelectorAll("details[open][id]")].map((one) => one.id));
  const again = () => show(report);
  const races =
    report.levels.some((level) =>
      level.standings.some((one) => one.rank_low || one.ratio_to_leader),
    ) || report.contenders.some((one) => one.levels.length);
  page.replaceChildren(
    head(report),
    ...(races ? [ranking(report, chosen, again), matter(report, chosen.connections)] : []),
    ...loads(report, chosen.connections),
    panels(report, chosen.connections, open),
    ...about(report),
  );
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function head(report) {
  const level = report.levels.find((one) => one.connections === chosen.connections);
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

/** A sentence in which the names of contenders lead to their panels, and do not break. */
function linked(sentence, contenders) {
  const panels = new Map(contenders.map((one, i) => [one.label ?? one.name, panelId(i)]));
  return sentence
    .replaceAll(" %", "\u00a0%")
    .split(/( )/)
    .map((word) => {
      const [, name, mark] = word.match(/^(.*?)([,.:]*)$/s);
      return panels.has(name) && name.length <= NAME_MAX
        ? h("span", { class: "whole" }, h("a", { href: `#${panels.get(name)}` }, name), mark)
        : word;
    });
}

/** A link to a server's panel opens it. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }
}

async function embedded() {
  const packed = Uint8Array.from(
    atob(document.getElementById("document").textContent.trim()),
    (char) => char.charCodeAt(0),
  );
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(unpacked).text());
}

addEventListener("hashchange", openTarget);
addEventListener("click", ({ target }) => {
  if (target.closest?.("a")?.hash === location.hash) openTarget();
});
window.deadheat = { show };
if (document.getElementById("document").textContent.trim()) {
  embedded().then(show).then(openTarget);
}
