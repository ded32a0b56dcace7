// The chart of the first screen: each row's ratio to the best with its interval, on one scale.
// Lanes use percentages, so the browser resizes them without a new drawing.

import { h, svg } from "./dom.js";
import { isKnown, NONE, ofLeader, rank } from "./numbers.js";

/**
 * @import { Child } from "./dom.js"
 * @import { Row } from "./rows.js"
 * @import { Entry } from "./standing.js"
 */

/**
 * @typedef {object} Look
 * @property {Map<string, { hue: number, tone: number }>} colors of the languages
 * @property {boolean} work whether the ratios include own work
 * @property {(count: number) => string} band the label of a band of so many rows
 */

const HEIGHT = 30;
const MIDDLE = HEIGHT / 2;
const CAP = 5; // half the height of an interval's end
const FADE = 8; // parts of a line that fades out
const MOST_MAX = 2; // an interval beyond twice the best rate fades out
const STEPS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100];

/**
 * The chart as a list, which screen readers read as text.
 * @param {Entry[]} entries
 * @param {Look} look
 */
export function board(entries, look) {
  const most = largest(entries);
  const step = STEPS.find((each) => most / each <= 5) ?? most;
  const ticks = Array.from({ length: 6 }, (_, i) => i * step).filter((tick) => tick <= most);
  return h(
    "div",
    { class: "board" },
    svg(
      "svg",
      { class: "definitions", width: 0, height: 0, "aria-hidden": "true" },
      svg(
        "pattern",
        { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" },
        svg("path", { class: "hatch", d: "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2" }),
      ),
    ),
    h(
      "ol",
      { "aria-label": "Rate in percent of the best, with intervals" },
      entries.map((entry, i) => line(entry, i, entries, { ...look, most, ticks })),
    ),
    axis(ticks, most),
  );
}

/** @typedef {Look & { most: number, ticks: number[] }} Scaled */

/**
 * @param {Entry} entry
 * @param {number} i
 * @param {Entry[]} entries
 * @param {Scaled} scaled
 */
function line(entry, i, entries, scaled) {
  const { row } = entry;
  const band = place(entries, i);
  const color = scaled.colors.get(row.contender.language ?? "");
  const classes = ["row", row.ranked ? "" : "unranked", ...band.classes];
  return h(
    "li",
    {
      class: classes.filter(Boolean).join(" "),
      style: color ? `--hue: ${color.hue}; --tone: ${color.tone}` : null,
    },
    band.first ? h("span", { class: "band-label" }, scaled.band(band.rows)) : null,
    h("span", { class: "rank" }, scaled.work ? "" : rank(row.standing)),
    h("span", { class: "who" }, who(row, entries)),
    lane(entry, scaled),
    h("span", { class: "value" }, entry.ratio ? ofLeader(entry.ratio, row.ranked) : NONE),
  );
}

/**
 * Name, language, and why there is no rank where other rows have one or the row has no ratio.
 * @param {Row} row
 * @param {Entry[]} entries
 * @returns {Child}
 */
function who(row, entries) {
  const ranks = entries.some((other) => other.row.ranked);
  const { language } = row.contender;
  return [
    h("a", { class: "clamp name", href: `#${row.panel}`, dir: "auto" }, row.name),
    language ? h("span", { class: "language clamp", dir: "auto" }, language) : null,
    row.ranked || (!ranks && row.standing.ratio_to_leader)
      ? null
      : h(
          "span",
          { class: "chip clamp", dir: "auto" },
          `not ranked: ${row.standing.reason ?? "reason not recorded"}`,
        ),
  ];
}

/**
 * @param {Entry} entry
 * @param {Scaled} scaled
 */
function lane({ row, ratio }, { most, ticks }) {
  const x = percent(most);
  return svg(
    "svg",
    { class: "lane", height: HEIGHT, "aria-hidden": "true" },
    ticks.map((tick) =>
      svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: "100%" }),
    ),
    ratio
      ? svg("rect", {
          class: row.ranked ? "bar" : "bar hatched",
          x: 0,
          y: MIDDLE - 6,
          width: x(ratio.ratio),
          height: 12,
        })
      : null,
    row.ranked ? interval(ratio, most) : null,
    row.ranked && ratio
      ? svg("circle", { class: "point", cx: x(ratio.ratio), cy: MIDDLE, r: 3.5 })
      : null,
  );
}

/**
 * The interval of a ratio. An unknown one fades out on both sides, and so does an end beyond the
 * scale: without a line the row would look certain.
 * @param {Entry["ratio"]} ratio
 * @param {number} most
 */
function interval(ratio, most) {
  if (!ratio || (ratio.low !== null && ratio.low === ratio.high)) return null;
  if (!isKnown(ratio)) return [fade(ratio.ratio, 0, most), fade(ratio.ratio, most, most)];
  const x = percent(most);
  const [low, high] = [Number(ratio.low), Number(ratio.high)];
  const beyond = high > most;
  const end = beyond ? (Math.max(low, Math.min(ratio.ratio, most)) + most) / 2 : high;
  const cap = (/** @type {number} */ at) =>
    svg("line", { class: "interval", x1: x(at), x2: x(at), y1: MIDDLE - CAP, y2: MIDDLE + CAP });
  return [
    svg("line", { class: "interval", x1: x(low), x2: x(end), y1: MIDDLE, y2: MIDDLE }),
    beyond ? fade(end, most, most) : cap(high),
    cap(low),
  ];
}

/**
 * A line that fades out from one ratio to the other.
 * @param {number} from
 * @param {number} to
 * @param {number} most
 */
function fade(from, to, most) {
  const x = percent(most);
  const at = (/** @type {number} */ i) => x(from + ((to - from) * i) / FADE);
  return Array.from({ length: FADE }, (_, i) =>
    svg("line", {
      class: "interval unknown",
      "stroke-opacity": (1 - i / FADE).toFixed(2),
      x1: at(i),
      x2: at(i + 1),
      y1: MIDDLE,
      y2: MIDDLE,
    }),
  );
}

/**
 * The first label and one at the end stay within the chart.
 * @param {number} share
 */
const anchor = (share) => (share === 0 ? "start" : share > 0.93 ? "end" : "middle");

/**
 * @param {number[]} ticks
 * @param {number} most
 */
function axis(ticks, most) {
  const x = percent(most);
  return h(
    "div",
    { class: "axis", "aria-hidden": "true" },
    svg(
      "svg",
      { height: 18 },
      ticks.map((tick) =>
        svg(
          "text",
          { x: x(tick), y: 13, "text-anchor": anchor(tick / most) },
          `${100 * tick}${tick === 0 ? " %" : ""}`,
        ),
      ),
    ),
  );
}

/**
 * The largest ratio or interval that the scale shows.
 * @param {Entry[]} entries
 */
function largest(entries) {
  const ends = entries.map(({ row, ratio }) =>
    ratio && row.ranked && isKnown(ratio)
      ? Math.min(ratio.high ?? 1, MOST_MAX)
      : (ratio?.ratio ?? 0),
  );
  return Math.max(1, ...ends) * 1.02;
}

/**
 * Where a row is in its band: adjacent rows with the same band.
 * @param {Entry[]} entries
 * @param {number} i
 */
function place(entries, i) {
  const band = entries[i].band;
  const same = (/** @type {number} */ j) => band !== null && entries[j]?.band === band;
  const [above, below] = [same(i - 1), same(i + 1)];
  if (!above && !below) return { classes: [], first: false, rows: 1 };
  let end = i;
  while (same(end + 1)) end += 1;
  return {
    classes: ["band", above ? "" : "band-first", below ? "" : "band-last"],
    first: !above,
    rows: end - i + 1,
  };
}

/** @param {number} most */
const percent = (most) => (/** @type {number} */ ratio) => `${((100 * ratio) / most).toFixed(3)}%`;
