// SPDX-License-Identifier: Apache-2.0
// Frames of a real program lead to its sources.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { program, until } from "./support/collector.mjs";
import { useCollector } from "./support/setup.mjs";

const kRoot = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const kUrl = "https://git.example.com/o/r/blob/v{version}/{file}#L{line}";
const kLink = /^https:\/\/git\.example\.com\/o\/r\/blob\/v1\.0\/samples\/deadlock\/main\.cc#L(\d+)$/;

const home = mkdtempSync(join(tmpdir(), "lagwatch-source-"));
copyFileSync(program("deadlock"), join(home, "deadlock"));
after(() => rmSync(home, { recursive: true, force: true }));

let collector, browser, report;
useCollector(
  [],
  async (ready) => {
    ({ collector, browser } = ready);
    const env = { PATH: process.env.PATH, HOME: home };
    const spool = join(home, "spool");
    execFileSync(program("deadlock"), ["2", "300", spool], { env });
    const to = ["--endpoint", collector.url, "--key", collector.key];
    execFileSync(program("lagwatch"), ["upload", "--spool", spool, ...to], { env });
    const { id } = (await collector.ask("/v1/reports"))[0];
    report = await until("names with lines", async () => {
      const asked = await collector.ask(`/v1/reports/${id}`);
      return asked.expensive_stack.some((frame) => frame.own && frame.line) && asked;
    });
  },
  ["--symbols-dir", home, "--source", `deadlock=${kUrl}`, "--source-root", `deadlock=${kRoot}`],
);

async function addresses(page) {
  await page.locator(".stack a.source").first().waitFor();
  return page.locator(".stack a.source").evaluateAll((all) => all.map((each) => each.href));
}

const sourceLine = (address) =>
  readFileSync(join(kRoot, "samples/deadlock/main.cc"), "utf8").split("\n")[
    Number(kLink.exec(address)[1]) - 1
  ];

test("the frozen thread's own frames lead to their lines", async () => {
  const page = await browser.newPage({ collector });
  await page.go(`/reports/${report.id}`);
  const shown = await addresses(page);
  const lines = shown.filter((each) => kLink.test(each)).map(sourceLine);
  assert.ok(
    lines.some((line) => /journal\(journal_mutex_\)/.test(line)),
    `${shown}\n${lines}`,
  );
  const link = page.locator(".stack a.source").first();
  assert.equal(await link.getAttribute("rel"), "noreferrer noopener");
  assert.equal(await link.getAttribute("target"), "_blank");
  // The C library's sources are elsewhere.
  assert.ok(
    shown.every((each) => kLink.test(each)),
    `${shown}`,
  );
  await page.finish();
});

test("so does a selected box of the flame graph, of the report and of the cause", async () => {
  for (const path of [`/reports/${report.id}`, `/causes/${report.cluster.level1}`]) {
    const page = await browser.newPage({ collector });
    await page.go(path);
    await page
      .locator(".flame-graph g.frame", { has: page.locator("title", { hasText: /^Ledger::Transfer/ }) })
      .first()
      .click();
    const address = await page.locator(".flame a.source").getAttribute("href");
    assert.match(address, kLink);
    assert.match(sourceLine(address), /journal_mutex_/);
    await page.finish();
  }
});

test("an admin changes the address in the config, which refuses scripts", async () => {
  const put = (url) =>
    collector.ask("/v1/admin/config", {
      method: "PUT",
      body: JSON.stringify({ sources: { deadlock: { url, root: kRoot } } }),
    });
  for (const bad of ["javascript:alert('{file}')", "https://{file}", "https://a.example/"])
    await assert.rejects(put(bad), /400/, bad);
  await put("https://elsewhere.example/{version}/{file}?line={line}");
  const page = await browser.newPage({ collector });
  await page.go(`/reports/${report.id}`);
  assert.match(
    (await addresses(page))[0],
    /^https:\/\/elsewhere\.example\/1\.0\/samples\/deadlock\/main\.cc\?line=\d+$/,
  );
  // An address that a collector would not give does not become a link.
  await page.route(`**/v1/reports/${report.id}?*`, async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({
      json: { ...answer, source: { url: "javascript:alert('{file}')", root: `${kRoot}/` } },
    });
  });
  await page.reload();
  await page.locator(".stack .place").first().waitFor();
  assert.equal(await page.locator("a.source").count(), 0);
  await page.finish();
});
