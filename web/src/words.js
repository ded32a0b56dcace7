// Figures as words, as the tables of the other formats write them.

export const NONE = "–";
const MIB = 1024 * 1024;

const grouped = (digits) => {
  const format = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return (value) => format.format(value);
};
const whole = grouped(0);
const [one, two, three] = [1, 2, 3].map(grouped);
const known = (write) => (value) => (value === null || value === undefined ? NONE : write(value));

export const count = known((value) => whole(value));
export const figure = known((value) =>
  Math.abs(value) >= 100 ? whole(value) : String(Number(value.toPrecision(3))));
export const rate = figure;
export const milliseconds = known((us) => {
  const ms = us / 1000;
  return (ms < 1 ? three : ms < 10 ? two : ms < 100 ? one : whole)(ms);
});
export const microseconds = known((us) => (us < 100 ? one(us) : whole(us)));
export const mebibytes = known((bytes) => (bytes < 10 * MIB ? one : whole)(bytes / MIB));
export const percent = known((share) => `${one(100 * share)} %`);

/** `45 s`, `3 min 20 s`, `2 h 5 min`. */
export const duration = known((s) => {
  if (s < 1) return `${whole(1000 * s)} ms`;
  if (s < 59.5) return `${Number(s.toPrecision(3))} s`;
  const minutes = Math.round(s) / 60;
  const [large, small, units] = minutes < 60
    ? [Math.floor(minutes), Math.round(s) % 60, ["min", "s"]]
    : [Math.floor(minutes / 60), Math.round(minutes) % 60, ["h", "min"]];
  return `${whole(large)} ${units[0]}${small ? ` ${small} ${units[1]}` : ""}`;
});

/** A span of work, from a microsecond up. */
export const span = known((us) =>
  us < 1000 ? `${figure(us)} µs` : us < 1e6 ? `${figure(us / 1000)} ms` : `${figure(us / 1e6)} s`);

/** What a gate read, or its limit. */
export function reading(value, unit) {
  if (value === null) return NONE;
  if (unit === "share") return percent(value);
  if (unit === "us") return `${whole(value)} µs`;
  return unit === "per_10k" ? `${figure(value)} per 10,000 requests` : figure(value);
}

export const plural = (number, noun) => `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A name in a sentence or a chart. */
export const short = (name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name);

/** A command as a shell takes it. */
export const shell = (command) =>
  command.map((word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");

/** A rank or its interval; a dash for what is not ranked. */
export function rank({ rank_low: low, rank_high: high }) {
  if (low === null) return NONE;
  return low === high ? String(low) : `${low}–${high}`;
}

/** `75.9 [66.6–86.6]`: percent of the leader, with its interval where there is one. */
export function ofLeader(ratio) {
  if (!ratio) return NONE;
  if (ratio.low === 1 && ratio.high === 1) return "100";
  const text = one(100 * ratio.ratio);
  if (ratio.low === null || ratio.high > 30 * ratio.low) return text;
  return `${text} [${one(100 * ratio.low)}–${one(100 * ratio.high)}]`;
}
