// node run.js CHROMIUM FOLDER NAME=FILE.html...: prints { check: null or its error } as JSON.

import { pathToFileURL } from "node:url";
import { run } from "./browser.js";
import { answer } from "./page/answer.js";
import { details } from "./page/details.js";
import { layout } from "./page/layout.js";
import { safety } from "./page/safety.js";
import { table } from "./page/table.js";

const checks = { ...answer, ...table, ...details, ...layout, ...safety };
const [chromium, folder, ...files] = process.argv.slice(2);
const pages = files
  .map((file) => file.split("=", 2))
  .map(([n, path]) => [n, pathToFileURL(path).href]);

console.log(JSON.stringify(await run(chromium, checks, { ...Object.fromEntries(pages), folder })));
