// Elements made from data: a string becomes text, never markup.

import { printable } from "./numbers.js";

/**
 * @typedef {Node | string | number | null | undefined | Child[]} Child
 * @typedef {Record<string, unknown> & { on?: Record<string, (event: any) => void> }} Attributes
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. Null and false attributes are left out; `on` maps events to listeners.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * A link to a web page; an address with another scheme is shown as text.
 * @param {string} address
 */
export function link(address) {
  const web = /^https?:\/\//.test(address);
  return web
    ? h("a", { href: address, rel: "noreferrer noopener" }, address)
    : h("span", {}, address);
}

/**
 * A table with a header row, in a box that scrolls; cells are strings or elements, and numbers are
 * right-aligned.
 * @param {string} label of the box
 * @param {string} caption
 * @param {string[]} headers
 * @param {Child[][]} rows
 */
export function table(label, caption, headers, rows) {
  const right = headers.map((_, i) => rows.every((cells) => numeric(cells[i])));
  const made = h(
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
  return scrolling(label, made);
}

/**
 * A box that scrolls sideways, by keyboard too.
 * @param {string} label
 * @param {...Child} children
 */
export function scrolling(label, ...children) {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    children,
  );
}

/**
 * What a reader opens by its title.
 * @param {string} title
 * @param {...Child} children
 */
export function more(title, ...children) {
  return h("details", { class: "more" }, h("summary", {}, title), children);
}

/**
 * A list of texts from the document; nothing without any.
 * @param {Child[]} items
 */
export function list(items) {
  return items.length
    ? h(
        "ul",
        {},
        items.map((item) => h("li", { dir: "auto" }, item)),
      )
    : null;
}

/**
 * Names with their values.
 * @param {Child[][]} rows
 */
export function facts(rows) {
  return h(
    "dl",
    {},
    rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value))),
  );
}

/**
 * One choice of several as a row of radio buttons.
 * @template T
 * @param {string} legend
 * @param {string} name
 * @param {{ value: T, id: string, text: string }[]} options
 * @param {T} chosen
 * @param {(value: T) => void} choose
 */
export function segments(legend, name, options, chosen, choose) {
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", {}, legend),
    options.map(({ value, id, text }) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name,
          id,
          value,
          checked: value === chosen,
          on: { change: () => choose(value) },
        }),
        h("span", {}, text),
      ),
    ),
  );
}

/**
 * A section of the page with its heading.
 * @param {string} id
 * @param {string} title
 * @param {Child} children
 */
export function section(id, title, children) {
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

/**
 * @param {Child} cell
 * @returns {boolean}
 */
function numeric(cell) {
  return typeof cell === "string" && /^(?:[(–\d]|[+-]\d)/.test(cell) && cell.length < 32;
}

/**
 * @template {Element} T
 * @param {T} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {T}
 */
function fill(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  const known = /** @type {(Node | string | number)[]} */ (
    /** @type {unknown[]} */ (children)
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined)
  );
  element.append(
    ...known.map((child) => (child instanceof Node ? child : printable(String(child)))),
  );
  return element;
}
