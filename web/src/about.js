// What may be concluded, what is in doubt, and on what machine and how it was measured.

import { h, scrolling, table } from "./dom.js";
import { shell } from "./format.js";

const METHOD = [
  "All rivals are started, verified and warmed, then run in the same minutes: block after block, in random order, each is loaded for a slice while the others are frozen. A comparison is made within blocks, so a machine that slows down slows all.",
  "A rank is an interval. Servers whose rows are braced are a dead heat: the data show that they differ by less than the margin, or cannot tell them apart.",
  "All statements about one level hold together at the confidence given. They speak of these builds, on this machine, under this load.",
  "A trial that fails a check (errors, a client at its own limit, a neighbour on the machine, ...) is shown and does not rank.",
];

export function about(report) {
  return [
    section("conclusions", "What may be concluded", statements(report)),
    section("doubts", "What is in doubt", doubts(report)),
    section("method", "How it was measured", method(report)),
  ];
}

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

function grouped(conclusions) {
  const topics = new Map();
  for (const { topic, text } of conclusions)
    topics.set(topic, [...(topics.get(topic) ?? []), text]);
  return [...topics];
}

function doubts(report) {
  if (!report.doubts.length) return h("p", {}, "Nothing: every trial passed every check.");
  return h(
    "ul",
    { class: "doubts" },
    report.doubts.map((one) =>
      h(
        "li",
        { dir: "auto" },
        one.text,
        one.advice ? h("span", { class: "advice" }, one.advice) : null,
      ),
    ),
  );
}

function method({ run, hosts, calibration }) {
  return [
    ...METHOD.map((text) => h("p", {}, text)),
    h(
      "dl",
      {},
      [
        ["run", run.id],
        ["command", h("code", { dir: "auto" }, shell(run.command))],
        ["protocol", `${run.protocol.name ?? "?"}: ${run.protocol.about ?? ""}`],
        ["load generator", run.generator_version],
        ["deadheat", `${run.deadheat_version}, seed ${run.seed}`],
        [
          "calibration",
          calibration
            ? told(calibration)
            : "none on a machine of this kind: deadheat calibrate makes one",
        ],
      ].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value))),
    ),
    ...hosts.map((host) =>
      more(
        `The ${host.role} host, CPU ${host.cpus.join(", ")}`,
        facts(`Fingerprint of the ${host.role} host`, host.fingerprint),
      ),
    ),
    more("The protocol as it was run", facts("Protocol", run.protocol)),
  ];
}

function told({ at, result }) {
  const share = result.false_difference_rate;
  const found =
    share === undefined || share === null
      ? ""
      : `: of ${result.null_pairs ?? "?"} pairs of equal servers ${(100 * share).toFixed(1)} % seemed to differ`;
  return `${at.slice(0, 10)}${found}`;
}

/** Nested data as rows of path and value. */
function facts(caption, data) {
  return scrolling(caption, table(caption, ["what", "value"], [...leaves(data)]));
}

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

function more(title, ...children) {
  return h("details", { class: "more" }, h("summary", {}, title), children);
}

function section(id, title, children) {
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}
