// Checks of the page in a real browser; each throws when it fails.

import { answer } from "./page/answer.js";
import { details } from "./page/details.js";
import { layout } from "./page/layout.js";
import { safety } from "./page/safety.js";
import { table } from "./page/table.js";

export const checks = { ...answer, ...table, ...details, ...layout, ...safety };
