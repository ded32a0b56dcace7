// "Does it matter?": the servers' own time per request against the reader's work per request.

import { h, scrolling, table } from "./dom.js";
import { microseconds, percent, short, span } from "./format.js";
import { rowsAt } from "./rows.js";

const MOST_US = 100_000;
const STEPS = 500;
const CLOSE = 0.03;

export function matter(report, connections) {
  const rows = rowsAt(report, connections).filter((row) => row.rate);
  if (rows.length < 2) return "";
  const byCpu = rows.every((row) => row.cpu > 0);
  const servers = rows
    .map((row) => ({ name: row.name, us: byCpu ? row.cpu : 1e6 / row.rate }))
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
    const compared = servers.map((one) => ({
      ...one,
      capacity: least / (one.us + own),
      share: one.us / (one.us + own),
    }));
    said.replaceChildren(...sentence(own, compared));
    holder.replaceChildren(
      table(
        `Of a request with ${span(own)} of my own work`,
        [
          "server",
          `${byCpu ? "CPU" : "time"} of the server, µs`,
          "its share of a request",
          "capacity, % of the best",
          "",
        ],
        compared.map((one) => [
          one.name,
          microseconds(one.us),
          percent(one.share),
          percent(one.capacity).replace(" %", ""),
          bar(one.capacity),
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
      "A benchmark's server does nothing but serve. Move the slider to what your own code takes for one request.",
    ),
    h("p", { class: "slider" }, h("label", { for: "own-work" }, "My own work per request"), slider),
    said,
    h("details", { class: "as-table" }, h("summary", {}, "as a table"), holder),
  );
}

/** Logarithmic from 1 µs; the left end is no work at all. */
function us(step) {
  return step === 0 ? 0 : 10 ** (Math.log10(MOST_US) * (step / STEPS));
}

function sentence(own, compared) {
  const close = compared.filter((one) => one.capacity >= 1 - CLOSE).length;
  const last = compared.at(-1);
  return [
    "With ",
    h("strong", {}, span(own)),
    ` of your own, ${close} of ${compared.length} servers ${close === 1 ? "is" : "are"} within 3 % of the best; the slowest, `,
    h("span", { dir: "auto" }, short(last.name)),
    ", gets through ",
    h("strong", {}, percent(last.capacity)),
    " of what the best does on the same CPU.",
  ];
}

function bar(share) {
  return h("span", { class: "meter", "aria-hidden": "true", style: `--share: ${share}` });
}
