// A chart with its words: a caption, a label for those who cannot see it, and its table.

import { plot } from "@observablehq/plot";
import { h, scrolling, table } from "./dom.js";

const HEIGHT = 240;

/**
 * `options` are Plot's; one with a `width` may take the whole page, others half of it; `label` says in a sentence what the chart shows; `headers` and `rows` are
 * its figures as text.
 */
export function figure(caption, label, options, headers, rows) {
  const chart = plot({
    height: HEIGHT,
    marginLeft: 56,
    marginRight: 16,
    marginBottom: 36,
    className: "chart",
    ...options,
    width: Math.max(280, Math.min(options.width ?? 640, room(options.width))),
  });
  // The chart is one image to a screen reader; Plot's labels of its parts would be noise.
  for (const part of chart.querySelectorAll("[aria-label]")) {
    part.setAttribute("data-part", part.getAttribute("aria-label"));
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
      scrolling(`${caption}, as a table`, table(label, headers, rows)),
    ),
  );
}

/** Where there is nothing to draw, the reason in its place. */
export function missing(caption, why) {
  return h("figure", { class: "missing" }, h("figcaption", {}, caption), h("p", {}, why));
}

/** In pixels: half of the page on a wide screen, all of it on a phone or where it is asked for. */
function room(whole) {
  const width = document.getElementById("page").clientWidth;
  return width < 800 ? width - 32 : Math.floor((width - 96) / (whole ? 1 : 2));
}
