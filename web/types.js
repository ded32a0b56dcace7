// Writes build/document.d.ts: the types of the JSON document, made from its schema.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const SCHEMA = new URL("../docs/schema-report.json", import.meta.url);
const FOLDER = new URL("build/", import.meta.url);

/**
 * The schema in the compiler's dialect. Only definitions keep their titles, which become names;
 * a reference is bare, so that a definition has one name; a tuple's parts are its items.
 * @param {string} key
 * @param {any} value
 */
function adapted(key, value) {
  if (key === "title" && typeof value === "string") return undefined;
  if (value?.$ref) return { $ref: value.$ref };
  if (value?.prefixItems) return { ...value, items: value.prefixItems };
  return value;
}

const schema = JSON.parse(await readFile(SCHEMA, "utf8"), adapted);
const types = await compile(schema, "Report", { unreachableDefinitions: true });
await mkdir(FOLDER, { recursive: true });
await writeFile(new URL("document.d.ts", FOLDER), types);
