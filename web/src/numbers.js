// Numbers, durations, intervals and lists as short texts, as src/deadheat/numbers.py writes them.
// tests/number_cases.json tests both.

/** @import { FailedGate } from "../build/document" */

/** @typedef {FailedGate["unit"]} Unit */

export const NONE = "–";
const MIB = 1024 * 1024;
const MINUTE_S = 60;
const HOUR_MIN = 60;

/** An interval whose ends differ by more than this factor says nothing. */
const UNKNOWN_FACTOR = 30;

/**
 * Foreign text with its line breaks and tabs, and every other hidden character escaped.
 * @param {string} text
 */
export function printable(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, (char) => {
    if (char === "\n" || char === "\t") return char;
    const code = /** @type {number} */ (char.codePointAt(0));
    const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(digits, "0")}`;
  });
}

/** Requests per second. */
export const rate = optional(figure);

/**
 * Any number: three significant digits, or whole from 100 up.
 * @param {number} value
 */
export function figure(value) {
  return Math.abs(value) >= 100 ? grouped(value, 0) : significant(value);
}

/** Microseconds as milliseconds: three digits, and at most three decimals. */
export const milliseconds = optional((us) => {
  const ms = us / 1000;
  return grouped(ms, ms < 1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0);
});

export const microseconds = optional((us) => grouped(us, us < 100 ? 1 : 0));

export const mebibytes = optional((bytes) => grouped(bytes / MIB, bytes < 10 * MIB ? 1 : 0));

export const integer = optional((number) => grouped(number, 0));

/** `2.50` */
export const hundredths = optional((number) => fixed(number, 2));

/** `4.0 %`, from a share of 1. */
export const percent = optional((share) => `${grouped(100 * share, 1)} %`);

/**
 * `1 trial`, `2 trials`.
 * @param {number} number
 * @param {string} noun
 */
export const count = (number, noun) => `${grouped(number, 0)} ${noun}${number === 1 ? "" : "s"}`;

/**
 * What a gate read, with its unit; a percentage has `extra` decimals more than it needs.
 * @param {number} value
 * @param {Unit} unit
 * @param {number} [extra]
 */
export function reading(value, unit, extra = 0) {
  if (unit === "share") {
    const decimals = Math.abs(value) >= 0.1 ? extra : 1 + extra;
    return `${grouped(100 * value, decimals).replace(/\.0$/, "")} %`;
  }
  if (unit === "us") return `${grouped(value, 0)} µs`;
  if (unit === "per_10k") return `${figure(value)} per 10,000 requests`;
  return figure(value);
}

/**
 * A reading and its limit, with as few decimals as make the two texts differ.
 * @param {number} read
 * @param {number} limit
 * @param {Unit} unit
 */
export function readingAndLimit(read, limit, unit) {
  let texts = [reading(read, unit), reading(limit, unit)];
  for (let extra = 1; extra <= 3 && texts[0] === texts[1]; extra += 1) {
    texts = [reading(read, unit, extra), reading(limit, unit, extra)];
  }
  return texts;
}

/** `45 s`, `3 min 20 s`, `2 h 5 min`. */
export const duration = optional((s) => {
  if (s < 1) return `${fixed(1000 * s, 0)} ms`;
  if (s < 59.5) return `${significant(s)} s`;
  const whole_s = Number(fixed(s, 0));
  const minutes = Math.floor(whole_s / MINUTE_S);
  if (minutes < HOUR_MIN) return joined(minutes, "min", whole_s % MINUTE_S, "s");
  return joined(Math.floor(minutes / HOUR_MIN), "h", minutes % HOUR_MIN, "min");
});

/**
 * A tick of an axis: `250` or `12.5k`.
 * @param {number} value
 */
export const tick = (value) =>
  value >= 1000 ? `${significant(value / 1000)}k` : significant(value);

/**
 * Microseconds in the largest unit that keeps the number at 1 or more.
 * @param {number} us
 */
export function span(us) {
  if (us < 1000) return `${figure(us)} µs`;
  return us < 1e6 ? `${figure(us / 1000)} ms` : `${figure(us / 1e6)} s`;
}

/**
 * A name in a sentence or a chart.
 * @param {string} name
 */
export const short = (name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name);

/**
 * A command with each word quoted as a shell needs it; the document writes the home folder as ~/.
 * @param {string[]} command
 */
export const shell = (command) => command.map(quoted).join(" ");

/**
 * A rank or its interval; a dash for what is not ranked.
 * @param {{ rank_low: number | null, rank_high: number | null }} standing
 */
export function rank({ rank_low: low, rank_high: high }) {
  if (low === null) return NONE;
  return low === high ? String(low) : `${low}–${high}`;
}

/**
 * Whether the interval of a ratio is narrow enough to say something.
 * @param {{ low: number | null, high: number | null }} ratio
 */
export const isKnown = ({ low, high }) =>
  low !== null && high !== null && high <= UNKNOWN_FACTOR * low;

/**
 * `75.9 [66.6–86.6]`: percent of the leader's rate, with its interval; `75.9 [unknown]` if it is
 * too wide to say anything, and only `75.9` for what has no rank.
 * @param {{ ratio: number | null, low: number | null, high: number | null } | null | undefined} ratio
 * @param {boolean} ranked
 */
export function ofLeader(ratio, ranked) {
  if (!ratio || ratio.ratio === null) return NONE;
  if (ratio.low === 1 && ratio.high === 1) return "100";
  const text = fixed(100 * ratio.ratio, 1);
  if (!isKnown(ratio)) return ranked ? `${text} [unknown]` : text;
  return `${text} [${fixed(100 * Number(ratio.low), 1)}–${fixed(100 * Number(ratio.high), 1)}]`;
}

/**
 * Lets `write` take null and undefined, as a dash.
 * @param {(value: number) => string} write
 */
function optional(write) {
  return (/** @type {number | null | undefined} */ value) =>
    value === null || value === undefined ? NONE : write(value);
}

/**
 * @param {number} large
 * @param {string} largeUnit
 * @param {number} small
 * @param {string} smallUnit
 */
const joined = (large, largeUnit, small, smallUnit) =>
  `${grouped(large, 0)} ${largeUnit}${small ? ` ${small} ${smallUnit}` : ""}`;

/** @param {string} word */
const quoted = (word) =>
  /^(~\/)?[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;

/**
 * @param {number} value
 * @param {number} decimals
 */
export function grouped(value, decimals) {
  const [whole, ...decimal] = fixed(value, decimals).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...decimal].join(".");
}

/**
 * Three significant digits, without trailing zeros: Python's `.3g`.
 * @param {number} value
 */
function significant(value) {
  const rounded = Number(value.toPrecision(3));
  if (rounded === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(rounded)));
  if (exponent >= -4) return String(Number(fixed(value, Math.max(0, 2 - exponent))));
  const [mantissa, power] = rounded.toExponential().split("e-");
  return `${mantissa}e-${power.padStart(2, "0")}`;
}

/**
 * A number with this many decimals, as Python rounds: exactly half goes to the even digit, where `toFixed` goes away from zero.
 * A double that lies exactly between two of its roundings is a multiple of 2^-(decimals + 1).
 * @param {number} value
 * @param {number} decimals
 */
export function fixed(value, decimals) {
  const longer = value.toFixed(decimals + 1);
  const half = longer.endsWith("5") && Number.isInteger(value * 2 ** (decimals + 1));
  const rounded = value.toFixed(decimals);
  if (!half || /[02468]$/.test(rounded)) return rounded;
  return longer.slice(0, decimals ? -1 : -2);
}
