// A color for each language of a run. Each row also names its language.

/** @import { Report } from "../build/document" */

/**
 * Languages with their hues in degrees, evenly spaced; neighbors also differ in tone (0 or 1).
 * @param {Report} report
 * @returns {Map<string, { hue: number, tone: number }>}
 */
export function languageColors({ contenders }) {
  const languages = [...new Set(contenders.flatMap(({ language }) => language ?? []))].sort();
  return new Map(
    languages.map((language, i) => [
      language,
      { hue: Math.round((210 + (360 * i) / languages.length) % 360), tone: i % 2 },
    ]),
  );
}
