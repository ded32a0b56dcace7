// The ranking's rows at one level: a standing with its contender's figures beside it.

const EMPTY = { p50_us: null, p99_us: null };

export function rowsAt(report, connections) {
  const level = report.levels.find((one) => one.connections === connections);
  const contenders = new Map(report.contenders.map((one) => [one.name, one]));
  const panels = new Map(report.contenders.map((one, i) => [one.name, panelId(i)]));
  return (level?.standings ?? []).map((standing, place) => {
    const contender = contenders.get(standing.name);
    const cell = contender.levels.find((one) => one.connections === connections);
    return {
      place,
      panel: panels.get(standing.name),
      standing,
      contender,
      cell,
      name: contender.label ?? contender.name,
      ranked: standing.rank_low !== null,
      rate: cell?.rate_per_s ?? null,
      service: cell?.service ?? EMPTY,
      firstByte: cell?.first_byte ?? EMPTY,
      response: response(contender, connections),
      cpu: cell?.server_cpu_us_per_request ?? null,
      memory: largest(contender),
      errors: sum(Object.values(cell?.errors ?? {})),
      trials: cell?.trials ?? [],
      valid: cell?.trials_valid ?? 0,
    };
  });
}

/** The last level at which anything was measured. */
export function mainLevel(report) {
  const levels = report.levels.map((one) => one.connections);
  return (
    levels.findLast((connections) => rowsAt(report, connections).some((row) => row.rate)) ??
    levels.at(-1) ??
    null
  );
}

/** The id of the panel of a report's i-th contender. */
export const panelId = (i) => `server-${i}`;

/** The comparisons of which some contender stands for a row, the one with the most first. */
export function comparisons(report) {
  const names = report.contenders.flatMap((one) => one.published.map((row) => row.comparison));
  const found = [...new Set(names)];
  const uses = (name) => names.filter((other) => other === name).length;
  return found.sort((a, b) => uses(b) - uses(a));
}

/** The published row at the contender's own setting if there is one, with its rate at a level. */
export function published(contender, comparison, connections) {
  const rows = contender.published.filter((row) => row.comparison === comparison);
  const row = rows.find((one) => one.setting === contender.setting) ?? rows[0];
  const figure = row?.rates.find((one) => one.connections === connections);
  return figure ? { ...figure, row } : null;
}

/** Open loop: the offered rate in the middle of those that were asked. */
function response(contender, connections) {
  const offered = contender.offered.filter(
    (one) => one.kind === "latency" && one.connections === connections,
  );
  return offered[Math.floor(offered.length / 2)]?.response ?? EMPTY;
}

function largest(contender) {
  const trials = [...contender.levels, ...contender.offered].flatMap((cell) => cell.trials);
  const peaks = trials.map((trial) => trial.memory_peak_bytes).filter((peak) => peak !== null);
  return peaks.length ? Math.max(...peaks) : null;
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
