// SPDX-License-Identifier: Apache-2.0
"use strict";
// node --require lagwatch/register server.js: start() with options of the environment, such as LAGWATCH_THRESHOLD_MS=500.
// A worker inherits the flag.
const lagwatch = require("./index.js");

const camelCase = (name) => name.toLowerCase().replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const options = {};
for (const [name, value] of Object.entries(process.env))
  if (name.startsWith("LAGWATCH_") && value) options[camelCase(name.slice("LAGWATCH_".length))] = value;
try {
  if (!lagwatch.start(options)) process.emitWarning(`lagwatch is off: ${lagwatch.whyOff()}`);
} catch (error) {
  process.emitWarning(error); // a program runs on without it
}
