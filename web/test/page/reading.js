// What the checks read from a page, and the pages they are given.

/**
 * @import { Page } from "playwright-core"
 * @import { Check } from "../browser.js"
 * @import { Report } from "../../build/document"
 */
/**
 * `real`: a stored run of eight servers; `wide`: one of 24, with dead heats; `made`: two levels,
 * workers, rates, hostile text.
 * `many`: 60 servers at three levels; `replay`: one of kzmake-2018; `decay`: a decay study;
 * `unknown`: two servers, one with an interval that is too wide to draw; `several`: three workloads;
 * `transports`: 17 servers over http, https and h2.
 * @typedef {Record<"real" | "wide" | "made" | "many" | "replay" | "decay" | "unknown" | "several" | "transports" | "folder", string>} Pages
 * @typedef {Record<string, Check<Pages>>} PageChecks
 */

export const texts = (/** @type {Page} */ page, /** @type {string} */ selector) =>
  page.$$eval(selector, (all) => all.map((element) => element.textContent ?? ""));
export const text = async (/** @type {Page} */ page, /** @type {string} */ selector) =>
  (await page.textContent(selector)) ?? "";
export const servers = (/** @type {Page} */ page) => texts(page, ".ranking tbody th a");

/** @param {Element[]} all */
export function setOpen(all) {
  for (const element of all) element.setAttribute("open", "");
}

/** @param {Page} page */
export async function openAll(page) {
  await page.$$eval("details.panel", setOpen);
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".panel")].every((element) => element.children.length > 1),
  );
}

/**
 * The document that a page shows.
 * @param {Page} page
 * @returns {Promise<Report>}
 */
export const reportOf = (page) =>
  page.evaluate(async () => {
    const packed = document.getElementById("document")?.textContent?.trim() ?? "";
    const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  });
