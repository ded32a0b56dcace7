// A chart with a caption, a label for screen readers, and its data as a table.

import { plot } from "@observablehq/plot";
import { h, table } from "./dom.js";

/** @import { PlotOptions } from "@observablehq/plot" */

const HEIGHT = 240;

/**
 * A chart; one with a `width` may take the whole page, others take half of it.
 * @param {string} caption
 * @param {string} label the content in one sentence, for screen readers
 * @param {PlotOptions} options
 * @param {string[]} headers
 * @param {string[][]} rows the data as text
 */
export function figure(caption, label, options, headers, rows) {
  const chart = plot({
    height: HEIGHT,
    marginLeft: 56,
    marginRight: 16,
    marginBottom: 36,
    className: "chart",
    ...options,
    width: Math.max(280, Math.min(options.width ?? 640, room(options.width !== undefined))),
  });
  // A screen reader reads the chart as one image, without Plot's labels of its parts.
  for (const part of chart.querySelectorAll("[aria-label]")) {
    part.setAttribute("data-part", part.getAttribute("aria-label") ?? "");
    part.removeAttribute("aria-label");
  }
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", label);
  return h(
    "figure",
    {},
    h("figcaption", {}, caption),
    chart,
    h(
      "details",
      { class: "as-table" },
      h("summary", {}, "as a table"),
      table(`${caption}, as a table`, label, headers, rows),
    ),
  );
}

/**
 * The reason in place of a chart that has no data.
 * @param {string} caption
 * @param {string} why
 */
export function missing(caption, why) {
  return h("figure", { class: "missing" }, h("figcaption", {}, caption), h("p", {}, why));
}

/**
 * Width in pixels: half of a wide page unless `whole`, all of a narrow one.
 * @param {boolean} whole
 */
function room(whole) {
  const width = document.body.clientWidth;
  return width < 800 ? width - 32 : Math.floor((width - 96) / (whole ? 1 : 2));
}
