// Sections that only some runs have: explanation, scaling, decay, offered rates, capacity.

import { decay } from "./decay.js";
import { explanation } from "./explain.js";
import { footprints } from "./footprint.js";
import { capacity, commonRates, offered } from "./offered.js";
import { scaling } from "./scaling.js";

/** @import { Report } from "../build/document" */

/**
 * @param {Report} report
 * @param {number | null} connections
 */
export function loads(report, connections) {
  return [
    ...explanation(report),
    ...scaling(report, connections),
    ...decay(report, connections),
    ...commonRates(report),
    ...offered(report),
    ...capacity(report),
    ...footprints(report, connections),
  ];
}
