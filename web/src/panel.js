// The panel of one contender: the evidence behind its row.

import { cpuFigure, memoryFigure, rateFigure } from "./course.js";
import { facts, h, link, more, section, table } from "./dom.js";
import { keep, place } from "./keep.js";
import { curveColors } from "./language.js";
import { latencyFigure } from "./latency.js";
import * as numbers from "./numbers.js";
import { panelId, sum } from "./rows.js";

/**
 * @import { CellPart, ContenderPart, FailedGate, LatencyPart, Report, StandingPart, TrialPart } from "../build/document"
 */

/**
 * A section with a closed panel for each contender; `open` holds the ids of the open ones.
 * @param {Report} report
 * @param {number | null} connections
 * @param {Set<string>} open
 */
export function panels(report, connections, open) {
  const standings =
    report.levels.find((level) => level.connections === connections)?.standings ?? [];
  const placeOf = (/** @type {ContenderPart} */ contender) => {
    const at = standings.findIndex((standing) => standing.name === contender.name);
    return at < 0 ? Infinity : at;
  };
  const order = report.contenders
    .map((contender, i) => ({ contender, i }))
    .sort((a, b) => placeOf(a.contender) - placeOf(b.contender) || a.i - b.i);
  const colorOf = curveColors(report);
  const whole = keep("panels", null, () => section("servers", "Behind each row", []));
  place(whole, [
    /** @type {Element} */ (whole.firstElementChild),
    ...order.map(({ contender, i }) => {
      const standing = standings[placeOf(contender)];
      return keep(
        panelId(i),
        [contender, standing?.rank_low, standing?.rank_high, connections, colorOf(contender)],
        () => panel(contender, colorOf(contender), standing, panelId(i), connections, open),
      );
    }),
  ]);
  return whole;
}

/**
 * @param {ContenderPart} contender
 * @param {string} color of its curves
 * @param {StandingPart | undefined} standing
 * @param {string} id
 * @param {number | null} connections
 * @param {Set<string>} open
 */
function panel(contender, color, standing, id, connections, open) {
  const cell = contender.levels.find((level) => level.connections === connections);
  const details = h(
    "details",
    { class: "panel", id },
    h(
      "summary",
      {},
      h("span", { class: "rank" }, standing ? numbers.rank(standing) : numbers.NONE),
      h("span", { class: "name clamp", dir: "auto" }, contender.label ?? contender.name),
      h(
        "span",
        { class: "details" },
        contender.role === "control"
          ? "control: shows the machine's noise"
          : contender.fault
            ? "did not take part"
            : cell?.doubtful === false || !cell
              ? ""
              : "no valid trial",
      ),
      h("span", { class: "number" }, cell ? `${numbers.rate(cell.rate_per_s)} requests/s` : ""),
    ),
  );
  // Filled when first opened: the charts of sixty servers would keep a phone busy.
  const fill = () => {
    if (details.open && details.children.length === 1)
      details.append(...content(contender, color, cell, connections));
  };
  details.addEventListener("toggle", fill);
  if (open.has(id)) {
    details.open = true;
    fill();
  }
  return details;
}

/**
 * @param {ContenderPart} contender
 * @param {string} color
 * @param {CellPart | undefined} cell
 * @param {number | null} connections
 */
function content(contender, color, cell, connections) {
  const offered = contender.offered.filter((each) => each.connections === connections);
  const trials = [...(cell?.trials ?? []), ...(cell ? [] : offered.flatMap((each) => each.trials))];
  return [
    ...remarks(contender, allTrials(contender)),
    trials.length
      ? h(
          "div",
          { class: "figures", style: `--series: ${color}` },
          cell
            ? latencyFigure("Service time and time to first byte", [
                { name: "last byte", color, latency: cell.service },
                ...(same(cell.service, cell.first_byte)
                  ? []
                  : [{ name: "first byte", color, latency: cell.first_byte }]),
              ])
            : null,
          ...offered
            .filter((each) => each.kind === "latency")
            .slice(-1)
            .map((each) =>
              latencyFigure(
                `Response time at ${numbers.rate(each.offered_rate_per_s)} requests/s offered`,
                [{ name: "response", color, latency: each.response }],
              ),
            ),
          rateFigure(trials, cell?.rate_per_s ?? null),
          cpuFigure(trials),
          memoryFigure(trials),
        )
      : null,
    cell && same(cell.service, cell.first_byte) && cell.first_byte.requests
      ? h(
          "p",
          { class: "details" },
          "The first byte arrives with the last: both have the same curve.",
        )
      : null,
    factsOf(contender, cell),
    behavior(contender),
    publishedRates(contender),
    output(contender),
  ].filter((part) => part !== null);
}

/** @param {ContenderPart} contender */
const allTrials = (contender) =>
  [...contender.levels, ...contender.offered].flatMap((each) => each.trials);

/**
 * Whether both curves are equal, as they are where a response is one segment.
 * @param {LatencyPart} a
 * @param {LatencyPart} b
 */
const same = (a, b) => JSON.stringify(a.curve) === JSON.stringify(b.curve);

/**
 * @param {ContenderPart} contender
 * @param {TrialPart[]} trials
 */
function remarks(contender, trials) {
  /** @type {Map<string, FailedGate[]>} */
  const gates = new Map();
  for (const gate of trials.flatMap((trial) => trial.gates_failed)) {
    gates.set(gate.code, [...(gates.get(gate.code) ?? []), gate]);
  }
  const failed = [...gates].map(([code, all]) => {
    const worst = all.reduce((a, b) => (excess(b) > excess(a) ? b : a));
    return h(
      "li",
      {},
      h("strong", {}, code),
      ` failed in ${numbers.count(all.length, "trial")}${excessText(worst)}`,
      worst.advice ? h("span", { class: "advice" }, worst.advice) : null,
    );
  });
  /** @type {Map<string, number>} */
  const errors = new Map();
  for (const [name, requests] of trials.flatMap((trial) => Object.entries(trial.errors))) {
    errors.set(name, (errors.get(name) ?? 0) + requests);
  }
  const total = sum([...errors.values()]);
  const classes = [...errors]
    .map(([name, requests]) => `${numbers.integer(requests)} ${name}`)
    .join(", ");
  const list = [
    contender.fault
      ? h("li", { dir: "auto" }, h("strong", {}, "did not take part: "), contender.fault)
      : null,
    ...failed,
    total
      ? h(
          "li",
          {},
          h("strong", {}, "errors"),
          ` ${numbers.count(total, "request")} failed: ${classes}`,
        )
      : null,
    ...contender.starts
      .filter((start) => start.fault)
      .map((start) =>
        h("li", { dir: "auto" }, h("strong", {}, `instance ${start.invocation}: `), start.fault),
      ),
  ].filter(Boolean);
  return [
    ...contender.notes.map((note) => h("p", { class: "note", dir: "auto" }, note)),
    list.length ? h("ul", { class: "cautions" }, list) : null,
  ].filter(Boolean);
}

/** @param {FailedGate} gate */
const excess = ({ reading, threshold }) =>
  reading === null || threshold === null ? 0 : Math.abs(reading - threshold);

/** @param {FailedGate} gate */
function excessText({ reading, threshold, unit }) {
  if (reading === null) return "";
  if (threshold === null) return `: worst ${numbers.reading(reading, unit)}`;
  const [read, limit] = numbers.readingAndLimit(reading, threshold, unit);
  return `: worst ${read}, limit ${limit}`;
}

const LIMITS = {
  client: "the client: its rate is a lower bound",
  cpu: "the server's CPUs",
  workers: "the CPU of its workers, fewer than the server's CPUs",
  waiting: "no CPU: its requests wait",
};

/**
 * @param {ContenderPart} contender
 * @param {CellPart | undefined} cell
 */
function factsOf(contender, cell) {
  const start = contender.starts.find((each) => each.command.length);
  const ready = contender.starts.map((each) => each.ready_s).filter((s) => s !== null);
  const build = contender.build;
  const rows = [
    ["version", contender.version],
    ["language", [contender.language, contender.framework].filter(Boolean).join(", ")],
    ["kind", contender.kind],
    [
      "workers and threads",
      `${numbers.count(contender.workers, "worker")}, ${numbers.count(contender.threads, "thread")} each`,
    ],
    ["setting", contender.setting],
    [
      "limited by",
      cell?.limit
        ? `${LIMITS[cell.limit]}${cell.server_cpus_used === null ? "" : ` (${numbers.fixed(cell.server_cpus_used, 2)} in use)`}`
        : null,
    ],
    ...perRequest(cell),
    ["homepage", contender.homepage ? link(contender.homepage) : null],
    ["started by", start ? h("code", { dir: "auto" }, numbers.shell(start.command)) : null],
    ["ready after", ready.length ? ready.map((s) => numbers.duration(s)).join(", ") : null],
    [
      "loaded by",
      contender.raw_output
        ? h("code", { dir: "auto" }, numbers.shell(contender.raw_output.command))
        : null,
    ],
    [
      "built with",
      build
        ? Object.entries(build.toolchains)
            .map((pair) => pair.join(" "))
            .join(", ")
        : null,
    ],
    [
      "build",
      build
        ? `${build.key}, ${build.built_at.slice(0, 16).replace("T", " ")} UTC, in ${numbers.duration(build.elapsed_s)}`
        : null,
    ],
  ];
  return facts(rows.filter(([, value]) => value));
}

/**
 * What a request took: the parts of its CPU time, and what is counted for it.
 * @param {CellPart | undefined} cell
 * @returns {[string, string | null][]}
 */
function perRequest(cell) {
  const parts = cell?.per_request;
  const count = (/** @type {number | null | undefined} */ value, /** @type {string} */ what) =>
    value === null || value === undefined ? null : `${numbers.fixed(value, 2)} ${what}`;
  const listed = (/** @type {(string | null)[]} */ texts) => texts.filter(Boolean).join(", ");
  const us = (/** @type {number | null | undefined} */ value, /** @type {string} */ what) =>
    value === null || value === undefined ? null : `${numbers.microseconds(value)} µs ${what}`;
  return [
    [
      "CPU time of a request",
      listed([us(parts?.user_us, "in its own code"), us(parts?.system_us, "in the kernel")]),
    ],
    [
      "context switches per request",
      listed([
        count(parts?.voluntary_switches, "voluntary"),
        count(parts?.involuntary_switches, "involuntary"),
      ]),
    ],
    [
      "packets per request",
      listed([
        count(parts?.packets_in, "of the server"),
        count(parts?.packets_out, "of the client"),
      ]),
    ],
    [
      "bytes per request",
      listed([
        count(parts?.bytes_in, "of the response"),
        count(parts?.bytes_out, "of the request"),
      ]),
    ],
  ];
}

/** @param {ContenderPart} contender */
function behavior(contender) {
  const behavior = contender.starts.find((start) => start.behavior)?.behavior;
  if (!behavior) return null;
  const rows = Object.entries(behavior)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [
      name.replaceAll("_", " "),
      value === true ? "yes" : value === false ? "no" : String(value),
    ]);
  const steady = contender.starts.flatMap(({ steady }) =>
    steady ? [`${steady.kind ?? "?"}${steady.trouble ? ` (${steady.trouble})` : ""}`] : [],
  );
  if (steady.length) rows.push(["steady state, by instance", steady.join("; ")]);
  return more(
    "Behavior",
    table("Behavior", "Answers to single requests before any load", ["question", "answer"], rows),
  );
}

/** @param {ContenderPart} contender */
function publishedRates(contender) {
  if (!contender.published.length) return null;
  const rows = contender.published.flatMap((row) =>
    row.rates.map((rate) => [
      row.comparison,
      row.row,
      numbers.integer(rate.connections),
      numbers.rate(rate.rate_per_s),
      `${rate.rank} of ${rate.rows}`,
      row.setting,
      row.differs.join("; "),
    ]),
  );
  return more(
    "Published rates",
    table(
      "Published rates",
      "Published rates, and how this server differs",
      ["comparison", "row", "connections", "requests/s", "place", "repeated by setting", "differs"],
      rows,
    ),
  );
}

/** @param {ContenderPart} contender */
function output(contender) {
  const raw = contender.raw_output;
  const logged = contender.starts.findLast((start) => start.log_tail?.trim());
  /** @type {[string, string | null | undefined][]} */
  const parts = [
    [`Load generator's output, instance ${raw?.invocation}, block ${raw?.block}`, raw?.stdout],
    ["Load generator's error output", raw?.stderr],
    ["Build log", contender.build?.log],
    [
      "SHA-256 of the built files",
      Object.entries(contender.build?.files ?? {})
        .map(([path, hash]) => `${hash}  ${path}`)
        .join("\n"),
    ],
    [`Server log, instance ${logged?.invocation}`, logged?.log_tail],
  ];
  return h(
    "div",
    {},
    parts
      .filter(([, text]) => text)
      .map(([title, text]) =>
        more(title, h("pre", { tabindex: "0", role: "region", "aria-label": title }, text)),
      ),
  );
}
