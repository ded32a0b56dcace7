// Sections that only some runs have: scaling, decay, offered rates, capacity.

import { decay } from "./decay.js";
import { capacity, offered } from "./offered.js";
import { scaling } from "./scaling.js";

/** @import { Report } from "../build/document" */

/**
 * @param {Report} report
 * @param {number | null} connections
 */
export function loads(report, connections) {
  return [
    ...scaling(report, connections),
    ...decay(report, connections),
    ...offered(report),
    ...capacity(report),
  ];
}
