// "Does it matter?": a server's time per request against the reader's own work per request.

import { h, scrolling, table } from "./dom.js";
import { microseconds, percent, short, span } from "./format.js";
import { last, rowsAt } from "./rows.js";

/** @import { Report } from "../build/document" */

const MOST_US = 100_000;
const STEPS = 500;
const CLOSE = 0.03;

/**
 * @param {Report} report
 * @param {number | null} connections
 */
export function matter(report, connections) {
  const rows = rowsAt(report, connections).filter((row) => row.rate);
  if (rows.length < 2) return "";
  const byCpu = rows.every((row) => row.cpu);
  const servers = rows
    .map(({ name, cpu, rate }) => ({ name, us: byCpu ? Number(cpu) : 1e6 / Number(rate) }))
    .sort((a, b) => a.us - b.us);
  const said = h("p", { class: "said", "aria-live": "polite" });
  const holder = scrolling("Does it matter, as a table");
  const slider = h("input", {
    type: "range",
    id: "own-work",
    min: 0,
    max: STEPS,
    step: 1,
    value: STEPS * 0.6,
  });
  const draw = () => {
    const own = us(Number(slider.value));
    slider.setAttribute("aria-valuetext", span(own));
    const least = servers[0].us + own;
    const compared = servers.map((server) => ({
      ...server,
      capacity: least / (server.us + own),
      share: server.us / (server.us + own),
    }));
    said.replaceChildren(...sentence(own, compared));
    holder.replaceChildren(
      table(
        `A request with ${span(own)} of my own work`,
        [
          "server",
          `${byCpu ? "CPU" : "time"} of the server, µs`,
          "share of a request",
          "capacity, % of the best",
          "",
        ],
        compared.map((server) => [
          server.name,
          microseconds(server.us),
          percent(server.share),
          percent(server.capacity).replace(" %", ""),
          bar(server.capacity),
        ]),
      ),
    );
  };
  slider.addEventListener("input", draw);
  draw();
  return h(
    "section",
    { "aria-labelledby": "matter", class: "matter" },
    h("h2", { id: "matter" }, "Does it matter?"),
    h(
      "p",
      {},
      "A benchmarked server only serves. Move the slider to the time that your own code takes for one request.",
    ),
    h("p", { class: "slider" }, h("label", { for: "own-work" }, "My own work per request"), slider),
    said,
    h("details", { class: "as-table" }, h("summary", {}, "as a table"), holder),
  );
}

/**
 * Microseconds at a step: logarithmic from 1 µs, and 0 at the left end.
 * @param {number} step
 */
function us(step) {
  return step === 0 ? 0 : 10 ** (Math.log10(MOST_US) * (step / STEPS));
}

/**
 * @param {number} own
 * @param {{ name: string, capacity: number }[]} compared
 */
function sentence(own, compared) {
  const close = compared.filter((server) => server.capacity >= 1 - CLOSE).length;
  const slowest = last(compared);
  return [
    "With ",
    h("strong", {}, span(own)),
    ` of your own, ${close} of ${compared.length} servers ${close === 1 ? "is" : "are"} within 3 % of the best; the slowest, `,
    h("span", { dir: "auto" }, short(slowest.name)),
    ", gets through ",
    h("strong", {}, percent(slowest.capacity)),
    " of what the best does on the same CPU.",
  ];
}

/** @param {number} share */
function bar(share) {
  return h("span", { class: "meter", "aria-hidden": "true", style: `--share: ${share}` });
}
