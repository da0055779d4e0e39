// SPDX-License-Identifier: Apache-2.0
// Recordings of Debian's redis-server and python3 in the programs that people open them with.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import Ajv from "ajv";
import { convert, decode, recordPython, recordRedis } from "./recorded.mjs";
import { functionsShown, openBrowser, openInSpeedscope, packageFile, serve, takePicture } from "./support.mjs";

const kRelease = "speedscope/dist/release";
const kPrograms = [
  // Both have names of their own exported functions only. The table shows as many rows as fit.
  { name: "redis", record: recordRedis, thread: "redis-server", shown: "aeMain", expected: ["aeMain", "processCommand", "call"] },
  { name: "python", record: recordPython, thread: "python3", shown: "<module> (busy.py)", expected: ["<module> (busy.py", "digest (busy.py"] },
];

let directory, server, browser;
const files = {};
before(async () => {
  directory = mkdtempSync(join(tmpdir(), "lagwatch-recorded-"));
  for (const { name, record } of kPrograms) files[name] = await record(directory);
  server = await serve({ "/traces/": directory, "/": packageFile(kRelease) });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  server?.close();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

for (const { name, thread, shown, expected } of kPrograms) {
  test(`${name}: speedscope shows where its time went`, async () => {
    const file = convert(files[name], "speedscope", ".speedscope.json");
    const schema = JSON.parse(readFileSync(packageFile(`${kRelease}/file-format-schema.json`), "utf8"));
    const validate = new Ajv({ strict: false }).compile(schema);
    assert.ok(validate(JSON.parse(readFileSync(file, "utf8"))), JSON.stringify(validate.errors));

    const page = await openInSpeedscope(browser, server, basename(file));
    assert.equal(await page.title(), `${thread} - speedscope`);
    await takePicture(page, `trace_${name}`);
    await page.getByText("Left Heavy").click();
    await takePicture(page, `trace_${name}_left_heavy`);
    const names = (await functionsShown(page, "Total")).map((each) => each.name);
    assert.ok(names.includes(shown), `${shown} in ${names}`);
    assert.ok(!names.some((each) => each.includes("lagwatch")), `${names}`);
    await page.finish();
  });

  test(`${name}: Perfetto's, pprof's and collapsed stacks hold the same functions`, () => {
    const perfetto = convert(files[name], "perfetto", ".perfetto-trace");
    const pprof = convert(files[name], "pprof", ".pb.gz");
    const collapsed = convert(files[name], "collapsed", ".collapsed");
    const texts = {
      perfetto: decode(perfetto, "perfetto.proto", "perfetto.protos.Trace"),
      speedscope: readFileSync(convert(files[name], "speedscope", ".speedscope.json"), "utf8"),
      pprof: decode(pprof, "profile.proto", "perftools.profiles.Profile"),
      collapsed: readFileSync(collapsed, "utf8"),
    };
    for (const [format, text] of Object.entries(texts))
      for (const wanted of expected) assert.ok(text.includes(wanted), `${wanted} in ${format}`);
    for (const line of texts.collapsed.split("\n").filter(Boolean)) assert.match(line, /^.+ \d+$/);
  });
}
