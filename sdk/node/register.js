// SPDX-License-Identifier: Apache-2.0
"use strict";
// node --require lagwatch/register server.js: start() with options of the environment, such as LAGWATCH_THRESHOLD_MS=500.
// A worker inherits the flag. Other variables of lagwatch's, as of its commands, are none of ours.
const fs = require("node:fs");
const path = require("node:path");
const lagwatch = require("./index.js");

const camelCase = (name) => name.toLowerCase().replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const types = fs.readFileSync(path.join(__dirname, "options.d.ts"), "utf8"); // the one list of the options
const known = new Set([...types.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name));
const options = {};
for (const [name, value] of Object.entries(process.env)) {
  if (!name.startsWith("LAGWATCH_") || !value) continue;
  const option = name === "LAGWATCH_SPOOL" ? "spoolDirectory" : camelCase(name.slice("LAGWATCH_".length));
  if (known.has(option)) options[option] = value;
}
try {
  if (!lagwatch.start(options)) process.emitWarning(`lagwatch is off: ${lagwatch.whyOff()}`);
} catch (error) {
  process.emitWarning(error); // a program runs on without it
}
