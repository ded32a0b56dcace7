// One server's panel: everything that stands behind its row.

import { cpuFigure, memoryFigure, rateFigure } from "./course.js";
import { h, link, scrolling, table } from "./dom.js";
import * as format from "./format.js";
import { latencyFigure } from "./latency.js";
import { panelId, sum } from "./rows.js";

/** A section with a closed panel for each contender; `open` holds the ids of the open ones. */
export function panels(report, connections, open) {
  const standings = report.levels.find((one) => one.connections === connections)?.standings ?? [];
  const place = (one) => {
    const at = standings.findIndex((standing) => standing.name === one.name);
    return at < 0 ? Infinity : at;
  };
  const order = report.contenders
    .map((one, i) => ({ one, i }))
    .sort((a, b) => place(a.one) - place(b.one) || a.i - b.i);
  return h(
    "section",
    { "aria-labelledby": "servers" },
    h("h2", { id: "servers" }, "Behind each row"),
    order.map(({ one, i }) => panel(one, standings[place(one)], panelId(i), connections, open)),
  );
}

function panel(one, standing, id, connections, open) {
  const cell = one.levels.find((level) => level.connections === connections);
  const details = h(
    "details",
    { class: "panel", id },
    h(
      "summary",
      {},
      h("span", { class: "rank" }, standing ? format.rank(standing) : format.NONE),
      h("span", { class: "name clamp", dir: "auto" }, one.label ?? one.name),
      h(
        "span",
        { class: "told" },
        one.role === "canary"
          ? "canary: shows what the machine does"
          : one.fault
            ? "did not take part"
            : cell?.doubtful === false || !cell
              ? ""
              : "no valid trial",
      ),
      h("span", { class: "number" }, cell ? `${format.rate(cell.rate_per_s)} requests/s` : ""),
    ),
  );
  // Made when first opened: sixty servers' charts at once would keep a phone busy.
  const fill = () => {
    if (details.open && details.children.length === 1)
      details.append(...content(one, cell, connections));
  };
  details.addEventListener("toggle", fill);
  if (open.has(id)) {
    details.open = true;
    fill();
  }
  return details;
}

function content(one, cell, connections) {
  const offered = one.offered.filter((each) => each.connections === connections);
  const trials = [...(cell?.trials ?? []), ...(cell ? [] : offered.flatMap((each) => each.trials))];
  return [
    ...remarks(one, standingTrials(one)),
    trials.length
      ? h(
          "div",
          { class: "figures" },
          cell
            ? latencyFigure("Service time and time to first byte", [
                { name: "last byte", latency: cell.service },
                ...(same(cell.service, cell.first_byte)
                  ? []
                  : [{ name: "first byte", latency: cell.first_byte }]),
              ])
            : null,
          ...offered
            .filter((each) => each.kind === "latency")
            .slice(-1)
            .map((each) =>
              latencyFigure(
                `Response time at ${format.rate(each.offered_rate_per_s)} requests/s offered`,
                [{ name: "response", latency: each.response }],
              ),
            ),
          rateFigure(trials, cell?.rate_per_s ?? null),
          cpuFigure(trials),
          memoryFigure(trials),
        )
      : null,
    cell && same(cell.service, cell.first_byte) && cell.first_byte.requests
      ? h("p", { class: "told" }, "The first byte came with the last: both have one curve.")
      : null,
    facts(one, cell),
    behaviour(one),
    then(one),
    output(one),
  ].filter(Boolean);
}

const standingTrials = (one) => [...one.levels, ...one.offered].flatMap((each) => each.trials);

/** One response in one segment: every quantile is the same. */
const same = (a, b) => JSON.stringify(a.curve) === JSON.stringify(b.curve);

function remarks(one, trials) {
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
      ` failed in ${format.count(all.length, "trial")}${excessText(worst)}`,
      worst.advice ? h("span", { class: "advice" }, worst.advice) : null,
    );
  });
  const errors = new Map();
  for (const [name, requests] of trials.flatMap((trial) => Object.entries(trial.errors))) {
    errors.set(name, (errors.get(name) ?? 0) + requests);
  }
  const total = sum([...errors.values()]);
  const classes = [...errors]
    .map(([name, requests]) => `${format.integer(requests)} ${name}`)
    .join(", ");
  const list = [
    one.fault ? h("li", { dir: "auto" }, h("strong", {}, "out: "), one.fault) : null,
    ...failed,
    total
      ? h(
          "li",
          {},
          h("strong", {}, "errors"),
          ` ${format.count(total, "request")} failed: ${classes}`,
        )
      : null,
    ...one.starts
      .filter((start) => start.fault)
      .map((start) =>
        h("li", { dir: "auto" }, h("strong", {}, `start ${start.invocation}: `), start.fault),
      ),
  ].filter(Boolean);
  return [
    ...one.notes.map((note) => h("p", { class: "note", dir: "auto" }, note)),
    list.length ? h("ul", { class: "doubts" }, list) : null,
  ].filter(Boolean);
}

const excess = ({ reading, threshold }) =>
  reading === null || threshold === null ? 0 : Math.abs(reading - threshold);

function excessText({ reading, threshold, unit }) {
  if (reading === null) return "";
  if (threshold === null) return `: worst ${format.reading(reading, unit)}`;
  const [read, limit] = format.readingAndLimit(reading, threshold, unit);
  return `: worst ${read}, limit ${limit}`;
}

const LIMITS = {
  client: "the client: its rate is a lower bound",
  cpu: "the server's CPUs",
  workers: "the CPU of its workers, fewer than the server's CPUs",
  waiting: "no CPU: its requests wait",
};

function facts(one, cell) {
  const start = one.starts.find((each) => each.command.length);
  const ready = one.starts.map((each) => each.ready_s).filter((s) => s !== null);
  const build = one.build;
  const rows = [
    ["version", one.version],
    ["language", [one.language, one.framework].filter(Boolean).join(", ")],
    ["kind", one.kind],
    [
      "workers and threads",
      `${format.count(one.workers, "worker")}, ${format.count(one.threads, "thread")} each`,
    ],
    ["setting", one.setting],
    [
      "limited by",
      cell?.limit
        ? `${LIMITS[cell.limit]}${cell.server_cpus_used === null ? "" : ` (${cell.server_cpus_used.toFixed(2)} in use)`}`
        : null,
    ],
    ["homepage", one.homepage ? link(one.homepage) : null],
    ["started by", start ? h("code", { dir: "auto" }, format.shell(start.command)) : null],
    ["ready after", ready.length ? ready.map((s) => format.duration(s)).join(", ") : null],
    [
      "loaded by",
      one.raw_output ? h("code", { dir: "auto" }, format.shell(one.raw_output.command)) : null,
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
        ? `${build.key}, ${build.built_at.slice(0, 16).replace("T", " ")} UTC, in ${format.duration(build.elapsed_s)}`
        : null,
    ],
  ];
  const shown = rows.filter(([, value]) => value);
  return h(
    "dl",
    {},
    shown.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value))),
  );
}

function behaviour(one) {
  const card = one.starts.find((start) => start.card)?.card;
  if (!card) return null;
  const rows = Object.entries(card)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [
      name.replaceAll("_", " "),
      value === true ? "yes" : value === false ? "no" : String(value),
    ]);
  const steady = one.starts
    .filter((start) => start.steady)
    .map(
      (start) =>
        `${start.steady.kind ?? "?"}${start.steady.trouble ? ` (${start.steady.trouble})` : ""}`,
    );
  if (steady.length) rows.push(["steady state, by start", steady.join("; ")]);
  return more(
    "Behaviour card",
    scrolling(
      "Behaviour card",
      table("What it answered when it was asked, before any load", ["question", "answer"], rows),
    ),
  );
}

function then(one) {
  if (!one.published.length) return null;
  const rows = one.published.flatMap((row) =>
    row.rates.map((rate) => [
      row.comparison,
      row.row,
      format.integer(rate.connections),
      format.rate(rate.rate_per_s),
      `${rate.rank} of ${rate.rows}`,
      row.setting,
      row.differs.join("; "),
    ]),
  );
  return more(
    "As published",
    scrolling(
      "As published",
      table(
        "What was printed, and in what this server is not the same",
        [
          "comparison",
          "row",
          "connections",
          "requests/s",
          "place",
          "repeated by setting",
          "differs",
        ],
        rows,
      ),
    ),
  );
}

function output(one) {
  const raw = one.raw_output;
  const parts = [
    raw
      ? [`Load generator's output, start ${raw.invocation}, block ${raw.block}`, raw.stdout]
      : null,
    raw?.stderr ? ["Load generator's complaints", raw.stderr] : null,
    one.build?.log ? ["Build log", one.build.log] : null,
    one.build
      ? [
          "Files that were built, with their SHA-256",
          Object.entries(one.build.files)
            .map((pair) => pair.reverse().join("  "))
            .join("\n"),
        ]
      : null,
    ...one.starts
      .filter((start) => start.log_tail?.trim())
      .slice(-1)
      .map((start) => [`What the server printed, start ${start.invocation}`, start.log_tail]),
  ].filter(Boolean);
  return h(
    "div",
    {},
    parts.map(([title, text]) =>
      more(title, h("pre", { tabindex: "0", role: "region", "aria-label": title }, text)),
    ),
  );
}

function more(title, ...children) {
  return h("details", { class: "more" }, h("summary", {}, title), children);
}
