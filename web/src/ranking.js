// The ranking: one table that sorts and filters, and the controls above it.

import { columns, GROUPS } from "./columns.js";
import { h, scrolling } from "./dom.js";
import { count } from "./format.js";
import { comparisons, mainLevel, rowsAt } from "./rows.js";

const ANY = "";

/** What a reader has chosen; it outlives a fresh document. */
export function firstChoice(report) {
  const wide = matchMedia("(min-width: 60rem)").matches;
  const names = comparisons(report);
  return {
    connections: mainLevel(report),
    name: "",
    language: ANY,
    kind: ANY,
    sort: "rank",
    descending: false,
    shown: new Set(wide ? ["times", "cost"] : []),
    comparison: names.includes(report.run.protocol.name)
      ? report.run.protocol.name
      : (names[0] ?? null),
  };
}

/** The section; `chosen` is changed in place, `onLevel` is called when another level is. */
export function ranking(report, chosen, onLevel) {
  const status = h("p", { class: "status", role: "status" });
  const holder = scrolling("Ranking");
  const draw = (focus) => {
    const rows = rowsAt(report, chosen.connections);
    const kept = rows.filter((row) => passes(row, chosen));
    holder.replaceChildren(table(rows, kept, chosen, draw));
    status.textContent =
      kept.length === rows.length
        ? count(rows.length, "server")
        : `${kept.length} of ${count(rows.length, "server")} shown`;
    if (focus) document.getElementById(focus)?.focus();
  };
  draw();
  return h(
    "section",
    { "aria-labelledby": "ranking" },
    h("h2", { id: "ranking", class: "visually-hidden" }, "Ranking"),
    controls(report, chosen, draw, onLevel),
    holder,
    status,
  );
}

function passes({ contender, name }, chosen) {
  const wanted = chosen.name.trim().toLowerCase();
  return (
    (chosen.language === ANY || contender.language === chosen.language) &&
    (chosen.kind === ANY || contender.kind === chosen.kind) &&
    [name, contender.name, contender.framework ?? ""].some((text) =>
      text.toLowerCase().includes(wanted),
    )
  );
}

function controls(report, chosen, draw, onLevel) {
  const rivals = report.contenders.filter((one) => one.role === "rival");
  return h(
    "form",
    { class: "controls", on: { submit: (event) => event.preventDefault() } },
    levels(report, chosen, onLevel),
    h(
      "label",
      {},
      "Name ",
      h("input", {
        id: "filter-name",
        type: "search",
        value: chosen.name,
        autocomplete: "off",
        spellcheck: "false",
        on: {
          input: (event) => {
            chosen.name = event.target.value;
            draw();
          },
        },
      }),
    ),
    choice("Language", "language", values(rivals, "language"), chosen, draw),
    choice("Kind", "kind", values(rivals, "kind"), chosen, draw),
    groups(report, chosen, draw),
  );
}

function levels(report, chosen, onLevel) {
  if (report.levels.length < 2) return null;
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", {}, "Connections"),
    report.levels.map(({ connections }) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: "level",
          id: `level-${connections}`,
          value: connections,
          checked: connections === chosen.connections,
          on: {
            change: () => {
              chosen.connections = connections;
              onLevel();
            },
          },
        }),
        h("span", {}, connections.toLocaleString("en-US")),
      ),
    ),
  );
}

function choice(label, key, options, chosen, draw) {
  if (options.length < 2) return null;
  const select = h(
    "select",
    {
      id: `filter-${key}`,
      on: {
        change: (event) => {
          chosen[key] = event.target.value;
          draw();
        },
      },
    },
    h("option", { value: ANY }, "all"),
    options.map((text) => h("option", { value: text }, text)),
  );
  select.value = chosen[key];
  return h("label", {}, `${label} `, select);
}

function groups(report, chosen, draw) {
  const names = comparisons(report);
  const offered = Object.entries(GROUPS).filter(([group]) => group !== "published" || names.length);
  const box = ([group, label]) =>
    h(
      "label",
      {},
      h("input", {
        type: "checkbox",
        id: `show-${group}`,
        checked: chosen.shown.has(group),
        on: {
          change: (event) => {
            if (event.target.checked) chosen.shown.add(group);
            else chosen.shown.delete(group);
            draw();
          },
        },
      }),
      label,
    );
  const select =
    names.length > 1
      ? h(
          "select",
          {
            id: "comparison",
            "aria-label": "Published comparison",
            on: {
              change: (event) => {
                chosen.comparison = event.target.value;
                chosen.shown.add("published");
                document.getElementById("show-published").checked = true;
                draw();
              },
            },
          },
          names.map((name) => h("option", { value: name }, name)),
        )
      : null;
  if (select) select.value = chosen.comparison;
  return h("fieldset", {}, h("legend", {}, "Columns"), offered.map(box), select);
}

function values(contenders, key) {
  return [...new Set(contenders.map((one) => one[key]).filter(Boolean))].sort();
}

function table(rows, kept, chosen, draw) {
  const shown = columns(rows, chosen);
  const column = shown.find((one) => one.key === chosen.sort) ?? shown[0];
  const sorted = sort(kept, column, chosen.descending);
  const inOrder = column.key === "rank" && !chosen.descending;
  const caption = `Ranking at ${count(chosen.connections ?? 0, "connection")}, sorted by ${column.key}`;
  return h(
    "table",
    { class: "ranking" },
    h("caption", { class: "visually-hidden" }, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        shown.map((one) => header(one, column, chosen, draw)),
      ),
    ),
    h(
      "tbody",
      {},
      sorted.map((row, i) =>
        h(
          "tr",
          {
            class:
              [row.ranked ? "" : "unranked", inOrder ? brace(sorted, i) : ""].join(" ").trim() ||
              null,
          },
          shown.map((one) =>
            h(
              one.header ? "th" : "td",
              {
                scope: one.header ? "row" : null,
                class:
                  [one.className, one.number ? "number" : ""].filter(Boolean).join(" ") || null,
              },
              one.cell(row),
            ),
          ),
        ),
      ),
    ),
  );
}

function header(one, current, chosen, draw) {
  const className = [one.className, one.number ? "number" : ""].filter(Boolean).join(" ") || null;
  if (!one.sort) return h("th", { scope: "col", class: className }, one.label);
  const active = one === current;
  const order = active ? (chosen.descending ? "descending" : "ascending") : "none";
  const turn = () => {
    chosen.descending = active ? !chosen.descending : Boolean(one.fastFirst);
    chosen.sort = one.key;
    draw(`sort-${one.key}`);
  };
  return h(
    "th",
    { scope: "col", class: className, "aria-sort": order },
    h(
      "button",
      { type: "button", id: `sort-${one.key}`, title: one.title, on: { click: turn } },
      one.label,
      h(
        "span",
        { class: "arrow", "aria-hidden": "true" },
        active ? (chosen.descending ? "▾" : "▴") : "",
      ),
    ),
  );
}

/** What is not known stands last, whichever way. */
function sort(rows, column, descending) {
  const direction = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [column.sort(a), column.sort(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a.place - b.place;
    return direction * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.place - b.place;
  });
}

/** Neighbours of one group are a dead heat: where this row stands in its brace. */
function brace(rows, i) {
  const group = (j) => (rows[j]?.ranked ? rows[j].standing.group : null);
  if (group(i) === null) return "";
  const [above, below] = [group(i - 1) === group(i), group(i + 1) === group(i)];
  return above || below
    ? `heat ${above ? "" : "heat-first"} ${below ? "" : "heat-last"}`.replace(/ +/g, " ")
    : "";
}
