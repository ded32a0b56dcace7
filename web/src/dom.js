// Elements made from data: a string is always text, never markup.

import { plain } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element. Attributes that are null or false are left out; `on` maps events to listeners. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A link that leads nowhere but to a page of the web: no other scheme is followed. */
export function link(address) {
  const web = /^https?:\/\//.test(address);
  return web
    ? h("a", { href: address, rel: "noreferrer noopener" }, address)
    : h("span", {}, address);
}

/** A table with a header row; cells are strings or elements, numbers stand right. */
export function table(caption, headers, rows) {
  const right = headers.map((_, i) => rows.every((cells) => numeric(cells[i])));
  return h(
    "table",
    { class: "small" },
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        headers.map((text, i) =>
          h("th", { scope: "col", class: i && right[i] ? "number" : null }, text),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((cells) =>
        h(
          "tr",
          {},
          cells.map((cell, i) =>
            i === 0
              ? h("th", { scope: "row" }, h("span", { class: "clamp", dir: "auto" }, cell))
              : h("td", { class: right[i] ? "number" : null }, cell),
          ),
        ),
      ),
    ),
  );
}

/** Anything wide, in a box of its own that scrolls, by keyboard too. */
export function scrolling(label, ...children) {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    children,
  );
}

function numeric(cell) {
  return typeof cell === "string" && /^[(–\d]/.test(cell) && cell.length < 24;
}

function fill(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  const known = children.flat(Infinity).filter((child) => child !== null && child !== undefined);
  element.append(...known.map((child) => (child instanceof Node ? child : plain(String(child)))));
  return element;
}
