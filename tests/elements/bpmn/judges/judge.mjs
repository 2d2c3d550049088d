// Prints what bpmn-moddle and bpmnlint find in the BPMN files of a folder, as JSON by file name.
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { BpmnModdle } from "bpmn-moddle";

const require = createRequire(import.meta.url);
const { Linter } = require("bpmnlint");
const NodeResolver = require("bpmnlint/lib/resolver/node-resolver");

const folder = process.argv[2];
const linter = new Linter({ config: { extends: "bpmnlint:recommended" }, resolver: new NodeResolver() });
const found = {};
for (const name of await readdir(folder)) {
  const { rootElement, warnings } = await new BpmnModdle().fromXML(await readFile(join(folder, name), "utf8"));
  const reports = await linter.lint(rootElement);
  const lint = Object.entries(reports).flatMap(([rule, each]) => each.map(({ id, message }) => `${rule} ${id ?? ""}: ${message}`));
  found[name] = { warnings: warnings.map(({ message }) => message), lint: lint.sort() };
}
process.stdout.write(JSON.stringify(found));
