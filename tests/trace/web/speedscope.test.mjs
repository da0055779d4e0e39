// SPDX-License-Identifier: Apache-2.0
// Speedscope's own schema, and its own importers: what they show is what was exported.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import Ajv from "ajv";
import {
  functionsShown,
  openBrowser,
  openInSpeedscope,
  packageFile,
  serve,
  takePicture,
  writeTraces,
} from "./support.mjs";

const kRelease = "speedscope/dist/release";

let traces, server, browser;
before(async () => {
  traces = writeTraces();
  server = await serve({ "/traces/": traces.directory, "/": packageFile(kRelease) });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  server?.close();
  traces?.remove();
});

const open = (file) => openInSpeedscope(browser, server, file);

for (const name of ["sample", "hostile", "long"]) {
  test(`${name}: speedscope's schema allows the file`, () => {
    const schema = JSON.parse(readFileSync(packageFile(`${kRelease}/file-format-schema.json`), "utf8"));
    const validate = new Ajv({ strict: false, allErrors: false }).compile(schema);
    assert.ok(validate(JSON.parse(traces.read(`${name}.speedscope.json`))), JSON.stringify(validate.errors));
  });
}

test("the main thread is shown in the order of time, with what each function took", async () => {
  const page = await open("sample.speedscope.json");
  await page.getByText("(1/5)").waitFor();
  assert.equal(await page.title(), "editor - speedscope");
  await takePicture(page, "trace_speedscope");
  const found = await functionsShown(page);
  assert.deepEqual(
    found.find((each) => each.name.includes("pthread_mutex_lock")),
    { total: "41.00ms", self: "41.00ms", name: "pthread_mutex_lock" },
  );
  assert.deepEqual(
    found.find((each) => each.name.startsWith("Index::Lookup")),
    { total: "71.00ms", self: "21.50ms", name: "Index::Lookup(std::string const&)" },
  );
  await page.finish();
});

test("every thread is a profile of its own, and all together are one", async () => {
  const page = await open("sample.speedscope.json");
  await page.getByText("(1/5)").click();
  const rows = await page
    .locator("tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
  assert.deepEqual(rows, [
    ["1", "main", "188.00ms"],
    ["2", "indexer", "93.00ms"],
    ["3", "thread 102 (samples)", "65.00ms"],
    ["4", "thread 102", "57.00ms"],
    ["5", "all threads, by time", "346.00ms"],
  ]);
  await page.finish();
});

test("collapsed stacks, pprof and Chrome's JSON are opened, too, and agree", async () => {
  for (const [file, self] of [
    ["sample.collapsed", "41,000,000"],
    ["sample.pb.gz", "41.00ms"],
    ["sample.json", "41.00ms"],
  ]) {
    const page = await open(file);
    const lock = (await functionsShown(page)).find((each) => each.name.startsWith("pthread_mutex_lock"));
    assert.equal(lock?.self, self, file);
    await page.finish();
  }
});

test("names that break formats are shown as names", async () => {
  for (const file of ["hostile.speedscope.json", "hostile.collapsed", "hostile.pb.gz", "hostile.json"]) {
    const page = await open(file);
    const names = (await functionsShown(page)).map((each) => each.name.trim());
    for (const name of [
      "+plus",
      "#hash",
      "two lines",
      "invalid \ufffd\ufffd(",
      "ünïcödé 漢字",
      "back\\slash",
    ])
      assert.ok(
        names.some((each) => each.startsWith(name)),
        `${file}: ${name} in ${names}`,
      );
    await page.finish();
  }
});

test("a long trace is opened", async () => {
  const page = await open("long.speedscope.json");
  await page.getByText("(1/2)").waitFor();
  // Only as many rows are there as can be seen.
  assert.ok((await functionsShown(page)).length > 20);
  await page.finish();
});
