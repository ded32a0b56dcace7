// A color for each language of a run, in bars and curves alike. Each row also names its language.

/** @import { ContenderPart, Report } from "../build/document" */

/** @typedef {(contender: Pick<ContenderPart, "language">) => string} ColorOf */
/** @typedef {Pick<Report, "contenders"> & { everyone?: ContenderPart[] }} Everyone */

/**
 * Languages with their hues in degrees, evenly spaced; neighbors also differ in tone
 * (0 or 1). `everyone` has all contenders where the report is of one workload of several.
 * @param {Everyone} report
 * @returns {Map<string, { hue: number, tone: number }>}
 */
export function languageColors({ contenders, everyone = contenders }) {
  const languages = [...new Set(everyone.flatMap(({ language }) => language ?? []))].sort();
  return new Map(
    languages.map((language, i) => [
      language,
      { hue: Math.round((210 + (360 * i) / languages.length) % 360), tone: i % 2 },
    ]),
  );
}

/**
 * The color of a contender's curves, dots and their names: that of its language, or gray.
 * @param {Everyone} report
 * @returns {ColorOf}
 */
export function curveColors(report) {
  const colors = languageColors(report);
  return ({ language }) => {
    const color = colors.get(language ?? "");
    return color ? `hsl(${color.hue} 65% var(--curve-${color.tone}))` : "var(--muted)";
  };
}
