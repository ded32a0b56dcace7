// node run.js CHROMIUM REAL.html WIDE.html MADE.html FOLDER: prints { check: null or its error } as JSON.

import { pathToFileURL } from "node:url";
import { run } from "./browser.js";
import { checks } from "./checks.js";

const [chromium, real, wide, made, folder] = process.argv.slice(2);
const address = (/** @type {string} */ path) => pathToFileURL(path).href;

const given = { real: address(real), wide: address(wide), made: address(made), folder };
console.log(JSON.stringify(await run(chromium, checks, given)));
