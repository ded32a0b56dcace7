// The conclusions, the failed checks, the machines, and the method.

import { facts, h, more, section, table } from "./dom.js";
import { count, percent, shell } from "./numbers.js";

/**
 * @import { CalibrationPart, Report, StatementPart } from "../build/document"
 */

/**
 * What the audit of a replay found, before the charts: the figures mislead in these ways.
 * @param {Report} report
 */
export function defects({ defects, run }) {
  if (!defects) return [];
  const name = run.protocol.name ?? "the comparison";
  return [
    section("defects", "How this comparison misleads", [
      h(
        "p",
        {},
        defects.length
          ? `The audit of ${name} found ${count(defects.length, "defect")}. The table has the published figures beside the new ones.`
          : `The audit of ${name} found no defect.`,
      ),
      h(
        "ol",
        { class: "defects" },
        defects.map((defect) =>
          h(
            "li",
            { dir: "auto" },
            h("strong", {}, defect.title),
            h("p", {}, defect.found),
            h("p", { class: "details" }, defect.changes),
          ),
        ),
      ),
    ]),
  ];
}

/** @param {Report} report */
export function about(report) {
  return [
    section("conclusions", "Conclusions", statements(report)),
    section("cautions", "Failed checks", cautions(report)),
    section("method", "How it was measured", method(report)),
  ];
}

/** @param {Report} report */
function statements(report) {
  return h(
    "dl",
    { class: "statements" },
    grouped(report.conclusions).map(([topic, texts]) =>
      h(
        "div",
        {},
        h("dt", {}, topic),
        texts.map((text) => h("dd", { dir: "auto" }, text)),
      ),
    ),
  );
}

/** @param {StatementPart[]} conclusions */
function grouped(conclusions) {
  /** @type {Map<string, string[]>} */
  const topics = new Map();
  for (const { topic, text } of conclusions)
    topics.set(topic, [...(topics.get(topic) ?? []), text]);
  return [...topics];
}

/** @param {Report} report */
function cautions(report) {
  if (!report.cautions.length) return h("p", {}, "None: every trial passed every check.");
  return h(
    "ul",
    { class: "cautions" },
    report.cautions.map((caution) =>
      h(
        "li",
        { dir: "auto" },
        caution.text,
        caution.advice ? h("span", { class: "advice" }, caution.advice) : null,
      ),
    ),
  );
}

/** @param {Report} report */
function method({ run, hosts, calibration, method }) {
  return [
    ...method.map((text) => h("p", {}, text)),
    facts([
      ["run", run.id],
      ["command", h("code", { dir: "auto" }, shell(run.command))],
      ["protocol", `${run.protocol.name ?? "?"}: ${run.protocol.about ?? ""}`],
      ["load generator", run.generator_version],
      ["deadheat", `${run.deadheat_version}, seed ${run.seed}`],
      [
        "calibration",
        calibration
          ? calibrated(calibration)
          : "none for this kind of machine (run deadheat calibrate)",
      ],
    ]),
    ...hosts.map((host) =>
      more(
        `The ${host.role} host, CPU ${host.cpus.join(", ")}`,
        nested(`Fingerprint of the ${host.role} host`, host.fingerprint),
      ),
    ),
    more("Protocol settings of this run", nested("Protocol", run.protocol)),
  ];
}

/**
 * The date, and how often equal servers seemed to differ.
 * @param {CalibrationPart} calibration
 */
function calibrated({ at, result }) {
  const share = result.false_difference_rate;
  const pairs =
    share === undefined || share === null
      ? ""
      : `: of ${result.null_pairs ?? "?"} pairs of identical servers, ${percent(Number(share))} seemed to differ`;
  return `${at.slice(0, 10)}${pairs}`;
}

/**
 * Nested data as rows of path and value.
 * @param {string} caption
 * @param {object} data
 */
function nested(caption, data) {
  return table(caption, caption, ["setting", "value"], [...leaves(data)]);
}

/**
 * @param {unknown} value
 * @param {string[]} [path]
 * @returns {Generator<[string, string]>}
 */
function* leaves(value, path = []) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value)) yield* leaves(inner, [...path, name]);
  } else if (value !== null && value !== undefined) {
    yield [
      path.join(" · ").replaceAll("_", " "),
      Array.isArray(value) ? value.join(", ") : String(value),
    ];
  }
}
