// The chart of the first screen as one SVG file, and that as PNG. It shows what the page shows: the
// same order, bands, hatches and intervals, in the colors of the reader's scheme.

import { svg } from "./dom.js";

/** @import { Chart } from "./copy.js" */

const WIDTH = 1000;
const ROW = 34;
const TOP = 56;
const BOTTOM = 34;
const LANE = { x: 300, width: 520 };
const SCALE = 2; // pixels of the PNG per unit
/** The properties that the page's style gives the parts of a lane. */
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray"];

/**
 * The text of a standalone SVG.
 * @param {Chart} chart
 */
export function picture({ chart, title }) {
  const rows = [...chart.querySelectorAll(".row")];
  const page = getComputedStyle(document.body);
  const height = TOP + ROW * rows.length + BOTTOM;
  const drawn = svg(
    "svg",
    {
      width: WIDTH,
      height,
      viewBox: `0 0 ${WIDTH} ${height}`,
      "font-family": "system-ui, sans-serif",
      fill: page.color,
    },
    svg("title", {}, title),
    svg("rect", { width: WIDTH, height, fill: page.backgroundColor }),
    hatch(chart),
    words(16, 32, shortened(title, 100), { "font-size": 18, "font-weight": 600 }),
    rows.map((row, i) => line(row, TOP + ROW * i)),
    svg(
      "svg",
      { x: LANE.x, y: TOP + ROW * rows.length, width: LANE.width, height: 18, overflow: "visible" },
      copies(chart.querySelector(".axis svg")),
    ),
    words(WIDTH - 16, height - 10, "deadheat", { "font-size": 11, "text-anchor": "end" }),
  );
  return new XMLSerializer().serializeToString(drawn);
}

/**
 * @param {string} text of an SVG
 * @returns {Promise<Blob>}
 */
export async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [SCALE * image.width, SCALE * image.height];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture was made"))));
  });
}

/**
 * @param {Element} row
 * @param {number} y
 */
function line(row, y) {
  const text = (/** @type {string} */ part) => row.querySelector(part)?.textContent ?? "";
  const band = getComputedStyle(row).backgroundColor;
  const details = [text(".language"), text(".chip")].filter(Boolean).join(" · ");
  return [
    svg("rect", { x: 8, y, width: WIDTH - 16, height: ROW, fill: band }),
    words(16, y + 21, text(".rank"), { "font-size": 13 }),
    words(70, y + (details ? 15 : 21), shortened(text(".name"), 32), {
      "font-size": 13,
      "font-weight": 600,
    }),
    words(70, y + 28, shortened(details, 42), { "font-size": 10 }),
    svg(
      "svg",
      { x: LANE.x, y: y + 2, width: LANE.width, height: 30 },
      copies(row.querySelector(".lane")),
    ),
    words(WIDTH - 16, y + 21, text(".value"), { "font-size": 13, "text-anchor": "end" }),
  ];
}

/**
 * Copies of a part's children that keep their look without the page's style.
 * @param {Element | null} part
 */
function copies(part) {
  return [...(part?.children ?? [])].map((child) => {
    const copy = /** @type {Element} */ (child.cloneNode(true));
    const style = getComputedStyle(child);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      copy.setAttribute(name, value.includes("#hatch") ? "url(#hatch)" : value);
    }
    copy.setAttribute("font-size", "11");
    copy.removeAttribute("class");
    return copy;
  });
}

/** @param {HTMLElement} chart */
function hatch(chart) {
  const pattern = chart.querySelector("pattern");
  const copy = /** @type {Element | undefined} */ (pattern?.cloneNode());
  copy?.append(...copies(pattern));
  return copy;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {Record<string, unknown>} attributes
 */
const words = (x, y, text, attributes) => svg("text", { x, y, ...attributes }, text);

/**
 * @param {string} text
 * @param {number} most characters
 */
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
