// The board: sorts, filters and recolors the table of the page. Every choice is in the link.

/**
 * Rate, share, low, high, places, dead heat, CPU in µs, p99 in ms, MiB, trials, reason, checks, run,
 * neighbors, what is said of an older build.
 * @typedef {[number | null, number | null, number | null, number | null, [number, number] | null,
 *   number | null, number | null, number | null, number | null, [number, number], string | null,
 *   [string, number, string][], number, Neighbor[], string | null]} Cell
 * Row, whether it is faster, verdict, ratio, low, high.
 * @typedef {[number, number, string, number | null, number | null, number | null]} Neighbor
 * Name, language, kind, version, newer version, file, cold start in ms, bytes of the head, what
 * renders the page.
 * @typedef {[string, string, string, string, string | null, string, number | null, number | null,
 *   string]} Server
 * @typedef {[number, number | null, number | null]} Change
 * @typedef {{ margin: number, workloads: string[], anchors: string[], runs: [string, string][],
 *   servers: Server[], cells: (Cell | null)[][], costs: (number | null)[][], before: [string, (Change | null)[][]][] }} Data
 */
(() => {
  const find = (/** @type {string} */ id) =>
    /** @type {HTMLElement} */ (document.getElementById(id));
  const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (find(id));
  /** @type {Data} */
  const data = JSON.parse(find("data").textContent ?? "");
  const table = /** @type {HTMLTableElement} */ (find("board"));
  const dialog = /** @type {HTMLDialogElement} */ (find("cell"));
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...(table.tHead?.rows[0].cells ?? [])];
  const COUNT = data.workloads.length;
  const FIRST = 2; // the cell of the first workload: behind the name and the mix
  const FIGURES = heads
    .filter((head) => head.classList.contains("figure"))
    .map((head) => head.dataset.sort ?? "");
  const SMALL_FIRST = new Set(["name", "version", ...FIGURES]);
  const OWN_MOST_US = 100000;
  const links = rows.map((row) =>
    data.workloads.map(
      (_, i) => /** @type {HTMLAnchorElement} */ (row.cells[FIRST + i].firstChild),
    ),
  );
  const FIELDS = ["name", "language", "kind", "versions", "of", "before"];
  const weights = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll(".weight")]);

  const initial = () => ({
    sort: "0",
    down: true,
    own: 0,
    /** @type {number[]} */
    weights: data.workloads.map(() => 0),
    /** @type {Record<string, string>} */
    fields: { ...Object.fromEntries(FIELDS.map((key) => [key, ""])), of: data.workloads[0] },
    /** @type {[number, number] | null} */
    open: null,
  });
  let choice = initial();
  /** @type {[number, number]} */
  let current = [0, 0];

  const digits = (/** @type {number} */ value) =>
    value >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
  const share = (/** @type {number} */ ratio) => {
    const percent = 100 * ratio;
    return percent.toFixed(percent >= 10 ? 0 : percent >= 1 ? 1 : 2);
  };
  const percent = (/** @type {number} */ ratio) => (100 * ratio).toFixed(1);
  const span = (/** @type {number} */ us) =>
    us >= 1000 ? `${Number((us / 1000).toPrecision(3))} ms` : `${us} µs`;

  /**
   * Time of a request in µs: CPU time where each cell of the column has it, else the inverse rate.
   * @param {number} i
   */
  function times(i) {
    const cells = data.cells[i];
    const byCpu = cells.every((cell) => !cell || cell[1] === null || cell[6] !== null);
    return cells.map((cell) =>
      !cell || cell[1] === null || !cell[0] ? null : byCpu ? Number(cell[6]) : 1e6 / cell[0],
    );
  }
  const time = data.workloads.map((_, i) => times(i));

  /**
   * The shares of a column, with the reader's own work.
   * @param {number} i
   * @returns {(number | null)[]}
   */
  function shares(i) {
    if (!choice.own) return data.cells[i].map((cell) => cell?.[1] ?? null);
    const known = time[i].filter((us) => us !== null);
    const least = Math.min(...known.map(Number)) + choice.own;
    return time[i].map((us) => (us === null ? null : least / (us + choice.own)));
  }

  /** The rate of the reader's mix, in shares of the best; null where a workload has no rate. */
  function mixed() {
    const rates = data.servers.map((_, row) => {
      let total = 0;
      for (let i = 0; i < COUNT; i += 1) {
        if (!choice.weights[i]) continue;
        const cell = data.cells[i][row];
        if (!cell || cell[1] === null || !cell[0]) return null;
        const us = choice.own ? Number(time[i][row]) + choice.own : 1e6 / cell[0];
        total += choice.weights[i] * us;
      }
      return total ? 1 / total : null;
    });
    const best = Math.max(...rates.map((rate) => rate ?? 0));
    return rates.map((rate) => (rate === null ? null : rate / best));
  }

  /**
   * @param {string} key
   * @param {number} row
   * @returns {number | string | null}
   */
  function figure(key, row) {
    const of = Math.max(0, data.workloads.indexOf(choice.fields.of));
    const cell = data.cells[of]?.[row];
    const server = data.servers[row];
    if (key === "cold") return server[6];
    if (key === "head") return server[7];
    if (key === "cost") return data.costs[of]?.[row] ?? null;
    return cell ? /** @type {number | null} */ (cell[6 + FIGURES.indexOf(key)]) : null;
  }

  /** @param {number} row */
  function fits(row) {
    const [name, language, kind, , newer] = data.servers[row];
    const { fields } = choice;
    return (
      name.toLowerCase().includes(fields.name.trim().toLowerCase()) &&
      (!fields.language || language === fields.language) &&
      (!fields.kind || kind === fields.kind) &&
      (fields.versions !== "current" || !newer) &&
      (fields.versions !== "outdated" || Boolean(newer))
    );
  }

  function draw() {
    const mix = choice.weights.some(Boolean);
    const columns = data.workloads.map((_, i) => shares(i));
    const mixes = mix ? mixed() : data.servers.map(() => null);
    const before = choice.fields.before === "" ? null : data.before[Number(choice.fields.before)];
    const value = (/** @type {number} */ row) => {
      const key = choice.sort;
      if (key === "name") return data.servers[row][0];
      if (key === "version") return data.servers[row][3] || null;
      if (key === "mix") return mixes[row];
      if (FIGURES.includes(key)) return figure(key, row);
      const at = Number(key);
      return before ? (before[1][at][row]?.[0] ?? null) : columns[at][row];
    };
    const values = rows.map((_, row) => value(row));
    const order = rows.map((_, row) => row).sort((a, b) => compare(values[a], values[b]) || a - b);
    const shown = order.filter(fits);
    const chosen = new Set(shown);
    body.replaceChildren(...order.map((row) => rows[row]));
    for (const row of order) rows[row].hidden = !chosen.has(row);
    for (const row of shown) {
      const cells = rows[row].cells;
      cells[1].hidden = !mix;
      if (mix) {
        const part = mixes[row];
        cells[1].textContent = part === null ? "–" : share(part);
        cells[1].title = part === null ? "a workload of the mix has no rate of it" : "";
      }
      for (let i = 0; i < COUNT; i += 1)
        paint(row, i, columns[i][row], before?.[1][i][row], before);
      FIGURES.forEach((key, i) => {
        const number = figure(key, row);
        cells[FIRST + COUNT + i].textContent = number === null ? "–" : digits(Number(number));
      });
    }
    braces(shown, before !== null, columns);
    heads[1].hidden = !mix;
    for (const head of heads) {
      if (head.dataset.sort === choice.sort)
        head.setAttribute("aria-sort", choice.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    find("count").textContent = sentence(shown, columns);
    if (!chosen.has(current[0])) current = [shown[0] ?? 0, current[1]];
    reach();
  }

  /**
   * @param {number | string | null} a
   * @param {number | string | null} b
   */
  function compare(a, b) {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const sign = choice.down ? -1 : 1;
    if (typeof a === "string" || typeof b === "string")
      return sign * String(a).localeCompare(String(b), "en", { numeric: true });
    return sign * (a - b);
  }

  /**
   * @param {number} row
   * @param {number} i
   * @param {number | null} part
   * @param {Change | null | undefined} change
   * @param {unknown} before
   */
  function paint(row, i, part, change, before) {
    const cell = data.cells[i][row];
    const link = links[row][i];
    const place = /** @type {HTMLElement} */ (link.parentElement);
    if (!cell || part === null) return;
    const [bold, small] = /** @type {HTMLElement[]} */ ([...link.children]);
    place.className = cell[14] ? "heat older" : "heat";
    place.style.setProperty("--s", Math.min(part, 1).toFixed(3));
    const places = cell[4];
    const rank = places && (places[0] === places[1] ? `${places[0]}` : `${places[0]}–${places[1]}`);
    if (!before) {
      bold.textContent = share(part);
      small.textContent = choice.own ? "" : (rank ?? "");
      return;
    }
    const [ratio, low, high] = change ?? [0, null, null];
    const known = change && low !== null && high !== null;
    const supported = known && (low > 1 || high < 1);
    place.classList.add(supported ? (ratio > 1 ? "up" : "down") : "same");
    bold.textContent = change ? `${ratio >= 1 ? "+" : "−"}${percent(Math.abs(ratio - 1))} %` : "–";
    small.textContent = "";
  }

  /**
   * Braces around dead heats in the column that sorts; with own work, around what is within the
   * margin of the best.
   * @param {number[]} shown
   * @param {boolean} changes
   * @param {(number | null)[][]} columns
   */
  function braces(shown, changes, columns) {
    for (const row of rows)
      for (let i = 0; i < COUNT; i += 1)
        row.cells[FIRST + i].classList.remove("brace", "brace-first", "brace-last");
    const i = Number(choice.sort);
    if (changes || !Number.isInteger(i)) return;
    const group = (/** @type {number | undefined} */ row) => {
      if (row === undefined) return null;
      const part = columns[i][row];
      if (!choice.own) return data.cells[i][row]?.[5] ?? null;
      return part !== null && part >= 1 - data.margin ? 0 : null;
    };
    shown.forEach((row, at) => {
      const own = group(row);
      if (own === null) return;
      const [above, below] = [group(shown[at - 1]) === own, group(shown[at + 1]) === own];
      if (!above && !below) return;
      const css = above && below ? "brace" : above ? "brace-last" : "brace-first";
      rows[row].cells[FIRST + i].classList.add(css);
    });
  }

  /**
   * @param {number[]} shown
   * @param {(number | null)[][]} columns
   */
  function sentence(shown, columns) {
    const count = `${shown.length} of ${rows.length} servers`;
    const i = Number(choice.sort);
    if (!choice.own || !Number.isInteger(i)) return count;
    const parts = shown.map((row) => columns[i][row]).filter((part) => part !== null);
    const close = parts.filter((part) => Number(part) >= 1 - data.margin).length;
    const margin = Number((100 * data.margin).toPrecision(2));
    return `${count}. With ${span(choice.own)} of your own per request, ${close} of ${parts.length} are within ${margin} % of the best on ${data.workloads[i]}.`;
  }

  // The link.

  function encode() {
    const values = new URLSearchParams();
    const first = initial();
    if (choice.sort !== first.sort) values.set("sort", choice.sort);
    if (choice.down === SMALL_FIRST.has(choice.sort))
      values.set("order", choice.down ? "down" : "up");
    if (choice.own) values.set("own", String(choice.own));
    for (const key of FIELDS)
      if (choice.fields[key] !== first.fields[key]) values.set(key, choice.fields[key]);
    const mix = choice.weights
      .map((weight, i) => (weight ? `${data.workloads[i]}:${weight}` : ""))
      .filter(Boolean);
    if (mix.length) values.set("mix", mix.join(","));
    if (choice.open)
      values.set("cell", `${data.servers[choice.open[0]][0]}~${data.workloads[choice.open[1]]}`);
    return values.toString();
  }

  function decode() {
    const values = new URLSearchParams(location.hash.slice(1));
    choice = initial();
    const sort = values.get("sort");
    if (sort && heads.some((head) => head.dataset.sort === sort)) choice.sort = sort;
    const order = values.get("order");
    choice.down = order ? order === "down" : !SMALL_FIRST.has(choice.sort);
    const own = Number(values.get("own"));
    if (own > 0 && own <= OWN_MOST_US) choice.own = own;
    for (const key of FIELDS) {
      const text = values.get(key);
      if (text !== null && document.getElementById(key)) choice.fields[key] = text;
    }
    if (choice.fields.before !== "" && !data.before[Number(choice.fields.before)])
      choice.fields.before = "";
    for (const part of (values.get("mix") ?? "").split(",")) {
      const at = part.lastIndexOf(":");
      const i = data.workloads.indexOf(part.slice(0, at));
      const weight = Number(part.slice(at + 1));
      if (i >= 0 && weight > 0 && weight <= 1000) choice.weights[i] = weight;
    }
    const [name, workload] = (values.get("cell") ?? "").split("~");
    const row = data.servers.findIndex((server) => server[0] === name);
    const column = data.workloads.indexOf(workload);
    choice.open = row >= 0 && column >= 0 ? [row, column] : null;
    for (const key of FIELDS)
      if (document.getElementById(key)) input(key).value = choice.fields[key];
    input("own").value = String(ownStep(choice.own));
    weights.forEach((each, i) => {
      each.value = String(choice.weights[i]);
    });
    showOwn();
  }

  function keep() {
    const text = encode();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  function change() {
    draw();
    keep();
  }

  const ownStep = (/** @type {number} */ us) =>
    us ? Math.max(1, Math.round((100 * Math.log10(us)) / Math.log10(OWN_MOST_US))) : 0;
  function showOwn() {
    const words = choice.own ? span(choice.own) : "none";
    find("own-text").textContent = words;
    input("own").setAttribute("aria-valuetext", words);
  }

  // A cell and its neighbors.

  /**
   * @param {string} tag
   * @param {...(Node | string)} children
   */
  function element(tag, ...children) {
    const made = document.createElement(tag);
    made.append(...children);
    return made;
  }

  const anchor = (/** @type {string} */ href, /** @type {string} */ words) =>
    Object.assign(element("a", words), { href });

  /** @param {Neighbor} neighbor */
  function verdict([row, faster, kind, ratio, low, high]) {
    const name = data.servers[row][0];
    const where = faster ? "above" : "below";
    if (ratio === null || low === null || high === null) return `${name} (${where}): no verdict`;
    const ends = `${percent(ratio - 1)} % [${percent(low - 1)}, ${percent(high - 1)}]`;
    if (kind === "separated")
      return faster
        ? `${name} (${where}) is faster by ${ends}`
        : `this one is faster than ${name} (${where}) by ${ends}`;
    const words = kind === "equivalent" ? "they differ by less than matters" : "a dead heat";
    return `${name} (${where}): ${words}; ${ends}`;
  }

  /**
   * @param {number} row
   * @param {number} i
   */
  function open(row, i) {
    const cell = data.cells[i][row];
    const server = data.servers[row];
    const heading = element("h2", `${server[0]} on ${data.workloads[i]}`);
    heading.id = "cell-title";
    const parts = [heading];
    if (!cell) parts.push(element("p", `It was not raced on ${data.workloads[i]}.`));
    else {
      const [rate, part, low, high, places, , cpu, p99, memory, trials, ...rest] = cell;
      const [reason, checks, run, near, older] = rest;
      if (reason) parts.push(element("p", `No rank: ${reason}.`));
      if (part !== null) {
        const ends =
          low === null || high === null ? "unknown interval" : `${percent(low)}–${percent(high)}`;
        const rank = places
          ? places[0] === places[1]
            ? `place ${places[0]}`
            : `places ${places[0]} to ${places[1]}`
          : "";
        parts.push(
          element("p", element("strong", `${percent(part)} % of the best`), ` [${ends}], ${rank}.`),
        );
      }
      const figures = [
        rate === null ? "" : `${digits(rate)} requests/s`,
        cpu === null ? "" : `${digits(cpu)} µs of CPU time per request`,
        p99 === null ? "" : `p99 ${digits(p99)} ms`,
        memory === null ? "" : `${digits(memory)} MiB`,
        `${trials[0]} of ${trials[1]} trials valid`,
      ];
      parts.push(element("p", `${figures.filter(Boolean).join(", ")}.`));
      if (server[8] && data.workloads[i] === "page") parts.push(element("p", `${server[8]}.`));
      if (older) parts.push(element("p", `It is of ${older}.`));
      if (near.length)
        parts.push(element("ul", ...near.map((each) => element("li", verdict(each)))));
      const failed = checks.map(([code, count, advice]) =>
        element("li", `${code} in ${count} of ${trials[1]} trials: ${advice}`),
      );
      if (failed.length) parts.push(element("p", "Failed checks:"), element("ul", ...failed));
      else parts.push(element("p", "No check failed."));
      parts.push(element("p", anchor(data.runs[run][1], `The run ${data.runs[run][0]}`)));
    }
    parts.push(element("p", anchor(`${server[5]}#${data.anchors[i]}`, `All about ${server[0]}`)));
    const close = element("button", "close");
    close.addEventListener("click", () => dialog.close());
    parts.push(close);
    dialog.replaceChildren(...parts);
    choice.open = [row, i];
    current = [row, i];
    keep();
    if (!dialog.open) dialog.showModal();
  }

  // One cell of the table can be reached by Tab; arrows lead to the others.

  function reach() {
    for (const row of links) for (const link of row) link.tabIndex = -1;
    const link = links[current[0]]?.[current[1]];
    if (link) link.tabIndex = 0;
  }

  /**
   * The row and the workload of the cell that an event is of.
   * @param {Event} event
   * @returns {[number, number] | null}
   */
  function placeOf(event) {
    const link = /** @type {HTMLElement} */ (event.target).closest("td.heat a");
    for (const [row, several] of links.entries())
      for (const [i, each] of several.entries()) if (each === link) return [row, i];
    return null;
  }

  /** @param {KeyboardEvent} event */
  function move(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const place = target.closest("td.heat");
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
      event.key
    ];
    if (!place || !step) return;
    event.preventDefault();
    const visible = [...body.rows].filter((row) => !row.hidden);
    const at = visible.findIndex((row) => row.contains(place));
    const next = visible[Math.min(visible.length - 1, Math.max(0, at + step[0]))];
    const column = Math.min(COUNT - 1, Math.max(0, current[1] + step[1]));
    current = [Number(next.dataset.row), column];
    reach();
    links[current[0]][column].focus();
  }

  for (const head of heads) {
    const button = element("button", head.textContent ?? "");
    button.addEventListener("click", () => {
      const key = head.dataset.sort ?? "0";
      choice.down = choice.sort === key ? !choice.down : !SMALL_FIRST.has(key);
      choice.sort = key;
      change();
    });
    head.replaceChildren(button);
  }
  body.addEventListener("click", (event) => {
    const place = placeOf(event);
    if (!place || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    current = place;
    reach();
    open(...place);
  });
  body.addEventListener("focusin", (event) => {
    current = placeOf(event) ?? current;
  });
  body.addEventListener("keydown", move);
  dialog.addEventListener("close", () => {
    choice.open = null;
    keep();
    links[current[0]]?.[current[1]]?.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  for (const key of FIELDS) {
    document.getElementById(key)?.addEventListener("input", (event) => {
      choice.fields[key] = /** @type {HTMLInputElement} */ (event.target).value;
      if (key === "before" && choice.fields.before !== "" && !/^\d+$/.test(choice.sort))
        choice.sort = "0";
      change();
    });
  }
  input("own").addEventListener("input", () => {
    const at = Number(input("own").value);
    choice.own = at ? Number((10 ** (Math.log10(OWN_MOST_US) * (at / 100))).toPrecision(2)) : 0;
    showOwn();
    change();
  });
  weights.forEach((each, i) => {
    each.addEventListener("input", () => {
      const before = choice.weights.some(Boolean);
      choice.weights[i] = Math.min(1000, Math.max(0, Number(each.value) || 0));
      const now = choice.weights.some(Boolean);
      if (now && !before) [choice.sort, choice.down] = ["mix", true];
      if (!now && choice.sort === "mix") choice.sort = "0";
      change();
    });
  });
  find("reset").addEventListener("click", () => {
    history.replaceState(null, "", location.pathname + location.search);
    decode();
    draw();
  });
  find("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href).catch(() => {});
    find("copy").textContent = "copied";
  });
  find("choices").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", () => {
    decode();
    draw();
  });
  decode();
  find("choices").hidden = false;
  draw();
  if (choice.open) open(...choice.open);
})();
