// A run of several workloads: the choice of one, and the servers over all of them.

import { h, scrolling, table } from "./dom.js";
import { ofLeader } from "./numbers.js";

/** @import { ProfilePart, ProfileRow, Report } from "../build/document" */

/**
 * What a report says of one workload, as if it were of a run of that alone.
 * @param {Report} report
 * @param {string} workload
 * @returns {Report}
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
    contenders,
    levels: report.levels.filter(here),
    cautions: report.cautions.filter(here),
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
    h(
      "fieldset",
      { class: "segments" },
      h("legend", {}, "Workload"),
      workloads.map((workload, place) =>
        h(
          "label",
          {},
          h("input", {
            type: "radio",
            name: "workload",
            id: `workload-${place}`,
            value: workload,
            checked: workload === chosen,
            on: { change: () => choose(workload) },
          }),
          h("span", {}, workload),
        ),
      ),
    ),
  );
}

/**
 * The section with each server's share of the best on each workload; nothing for a run of one.
 * @param {Report} report
 */
export function profile(report) {
  if (!report.profile) return null;
  const { workloads } = report.run;
  const rows = report.profile.rows.map((row) => [
    row.name,
    ...workloads.map((workload) => shareOf(row, workload)),
  ]);
  return h(
    "section",
    { "aria-labelledby": "profile" },
    h("h2", { id: "profile" }, "Profile over the workloads"),
    h("p", {}, "The rate in % of the best on each workload, with its interval."),
    scrolling("Profile", table("% of the best", ["server", ...workloads], rows)),
    h(
      "ul",
      {},
      texts(report.profile).map((text) => h("li", { dir: "auto" }, text)),
    ),
  );
}

/** @param {ProfilePart} of */
const texts = ({ predictions }) => predictions.flatMap(({ text }) => text);

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
