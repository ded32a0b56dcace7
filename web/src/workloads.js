// A run of several workloads: the choice of one, and the servers over all of them.

import { h, list, more, scrolling, section, segments, table } from "./dom.js";
import { curveColors } from "./language.js";
import { grouped, microseconds, NONE, ofLeader } from "./numbers.js";

/**
 * @import { ProfilePart, ProfileRow, Report } from "../build/document"
 * @import { Everyone } from "./language.js"
 */

/**
 * What a report says of one workload, as if it were of a run of that alone.
 * @param {Report} report
 * @param {string} workload
 * @returns {Report & Everyone}
 */
export function onWorkload(report, workload) {
  if (report.run.workloads.length < 2) return report;
  const here = (/** @type {{ workload: string | null }} */ each) =>
    each.workload === null || each.workload === workload;
  const contenders = report.contenders
    .filter(({ levels, offered }) => {
      const cells = [...levels, ...offered];
      return !cells.length || cells.some(here);
    })
    .map((contender) => ({
      ...contender,
      levels: contender.levels.filter(here),
      offered: contender.offered.filter(here),
    }));
  return {
    ...report,
    everyone: report.contenders,
    contenders,
    levels: report.levels.filter(here),
    rates: report.rates.filter(here),
    cautions: report.cautions.filter(here),
    handshakes: report.handshakes.filter(here),
    conclusions: report.conclusions.filter(here),
  };
}

/**
 * The workloads of a run as one choice; nothing for a run of one.
 * @param {Report} report
 * @param {string} chosen
 * @param {(workload: string) => void} choose
 */
export function workloadChoice(report, chosen, choose) {
  const { workloads } = report.run;
  if (workloads.length < 2) return null;
  return h(
    "form",
    { class: "controls", on: { submit: (event) => event.preventDefault() } },
    segments(
      "Workload",
      "workload",
      workloads.map((value, place) => ({ value, id: `workload-${place}`, text: value })),
      chosen,
      choose,
    ),
  );
}

/**
 * The section with a picture of each server's share of the best on each workload, then the figures;
 * nothing for a run of one.
 * @param {Report} report
 */
export function profile(report) {
  if (!report.profile) return null;
  const { workloads } = report.run;
  const rows = report.profile.rows.map((row) => [
    row.name,
    ...workloads.map((workload) => shareOf(row, workload)),
  ]);
  return section("profile", "Profile over the workloads", [
    h(
      "p",
      {},
      "Each bar is the rate in % of the best on that workload: a full one is the best. A thin line is its interval.",
    ),
    scrolling("Bars", bars(report, report.profile.rows, workloads)),
    h(
      "details",
      { class: "as-table" },
      h("summary", {}, "as a table"),
      table("Profile", "% of the best", ["server", ...workloads], rows),
    ),
    ...costs(report.profile),
    more(
      `How well ${workloads[0]} predicts the other workloads`,
      list(report.profile.predictions.flatMap(({ text }) => text)),
    ),
  ]);
}

/**
 * A table for each transport: what it costs a server, those that lose least first.
 * @param {ProfilePart} of
 */
function costs({ transports }) {
  const head = ["server", "rate, % of that [95 %]", "CPU µs more [95 %]", "p99 ms more [95 %]"];
  return [...new Set(transports.map((cost) => cost.workload))].map((workload) => {
    const own = transports.filter((cost) => cost.workload === workload);
    const title = `What ${workload} costs beside ${own[0].by}`;
    own.sort(
      (a, b) =>
        Number(a.rate_ratio_low === null) - Number(b.rate_ratio_low === null) ||
        (b.rate_ratio ?? 0) - (a.rate_ratio ?? 0),
    );
    const rows = own.map((cost) => [
      cost.name,
      ofLeader(
        { ratio: cost.rate_ratio, low: cost.rate_ratio_low, high: cost.rate_ratio_high },
        true,
      ),
      signedInterval([cost.cpu_us_more, cost.cpu_us_more_low, cost.cpu_us_more_high], microseconds),
      signedMilliseconds([
        cost.service_us_p99_more,
        cost.service_us_p99_more_low,
        cost.service_us_p99_more_high,
      ]),
    ]);
    return h(
      "details",
      { class: "as-table", open: true },
      h("summary", {}, title),
      table(title, title, head, rows),
    );
  });
}

/**
 * `+4.2 [+3.9, +4.5]`
 * @param {(number | null)[]} interval
 * @param {(us: number) => string} written
 */
function signedInterval([value, low, high], written) {
  const signed = (/** @type {number} */ us) => `${us < 0 ? "-" : "+"}${written(Math.abs(us))}`;
  if (value === null) return NONE;
  const interval =
    low === null || high === null ? "[unknown]" : `[${signed(low)}, ${signed(high)}]`;
  return `${signed(value)} ${interval}`;
}

/**
 * With as many decimals as the largest of them needs.
 * @param {(number | null)[]} interval
 */
function signedMilliseconds(interval) {
  const largest = Math.max(...interval.map((us) => Math.abs(us ?? 0)));
  const decimals = largest < 1_000 ? 2 : largest < 10_000 ? 1 : 0;
  return signedInterval(interval, (us) => grouped(us / 1000, decimals));
}

/**
 * A bar for each server and workload, in the color of the server's language.
 * @param {Report} report
 * @param {ProfileRow[]} rows
 * @param {string[]} workloads
 */
function bars(report, rows, workloads) {
  const colorOf = curveColors(report);
  const colors = new Map(report.contenders.map((each) => [each.label ?? each.name, colorOf(each)]));
  return h(
    "table",
    { class: "profile" },
    h("caption", { class: "visually-hidden" }, "Rate in % of the best on each workload, as bars"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "server")),
        workloads.map((workload) => h("th", { scope: "col", dir: "auto" }, workload)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          { style: `--series: ${colors.get(row.name) ?? "var(--muted)"}` },
          h("th", { scope: "row" }, h("span", { class: "clamp", dir: "auto" }, row.name)),
          workloads.map((workload) => bar(row, workload)),
        ),
      ),
    ),
  );
}

/**
 * @param {ProfileRow} row
 * @param {string} workload
 */
function bar(row, workload) {
  const share = row.shares.find((each) => each.workload === workload);
  const text = shareOf(row, workload);
  const named = h("span", { class: "visually-hidden" }, text);
  if (!share || share.ratio === null) return h("td", { title: `${workload}: ${NONE}` }, named);
  const [low, high] = [share.low ?? share.ratio, Math.min(share.high ?? share.ratio, 1)];
  return h(
    "td",
    { title: `${workload}: ${text}` },
    named,
    h(
      "span",
      { class: "track", "aria-hidden": "true" },
      h("span", { class: "fill", style: `width: ${whole(Math.min(share.ratio, 1))}` }),
      low < high
        ? h("span", { class: "range", style: `left: ${whole(low)}; width: ${whole(high - low)}` })
        : null,
    ),
  );
}

/** @param {number} share */
const whole = (share) => `${(100 * share).toFixed(1)}%`;

/**
 * @param {ProfileRow} row
 * @param {string} workload
 */
function shareOf({ shares }, workload) {
  return ofLeader(
    shares.find((each) => each.workload === workload),
    true,
  );
}
