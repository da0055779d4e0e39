// SPDX-License-Identifier: Apache-2.0
"use strict";
// The examples of docs/node.md: each runs, and is reported as it says.
const assert = require("node:assert");
const fs = require("node:fs");
const test = require("node:test");
const { withProgram } = require("./programs");

const page = fs.existsSync(`${__dirname}/node.md`) ? fs.readFileSync(`${__dirname}/node.md`, "utf8") : "";
const examples = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, example]) => example);

test("the page", { skip: !page }, async (t) => {
  assert(examples.length > 1);
  for (const example of examples)
    await t.test(example.split("\n")[3], withProgram(async (program) => {
      await program.run(example, { start: "" });
      const tags = program.reports().map((report) => report.tag).filter(Boolean);
      assert.deepStrictEqual(tags, [...example.matchAll(/reported as "(.*)"/g)].map(([, tag]) => tag));
    }));
});
