// SPDX-License-Identifier: Apache-2.0
// The trace on a report's page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { kPhone, takePicture } from "./support/browser.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page, report;
useCollector(["story"], async (ready) => {
  ({ collector, browser } = ready);
  const [newest] = await collector.ask("/v1/reports?verdict=network&limit=1");
  report = await collector.ask(`/v1/reports/${newest.id}`);
});
usePage(
  () => browser.newPage({ collector }),
  async (opened) => {
    page = opened;
    await page.go(`/reports/${report.id}`);
    await page.locator(".trace .flame-graph g.frame").first().waitFor();
  },
);

const panel = () => page.locator("section.trace");

test("shows what the frozen thread did before", async () => {
  assert.match(await panel().locator("h2").textContent(), /Before the hang.*5 s recorded/);
  const names = await panel().locator(".flame-graph .d3-flame-graph-label").allTextContents();
  for (const name of ["main", "Library::LoadCover", "Http::Fetch", "Player::Draw"])
    assert.ok(names.includes(name), `${name} among ${names}`);
  assert.equal(await panel().getByRole("button", { name: "Time order" }).count(), 0);
});

test("shows another thread, by keyboard", async () => {
  const threads = panel().getByRole("group", { name: "Thread" });
  assert.equal(await threads.getByRole("button").count(), 2);
  assert.equal(await threads.getByRole("button", { name: /^ui/ }).getAttribute("aria-pressed"), "true");
  await threads.getByRole("button", { name: /^worker/ }).focus();
  await page.keyboard.press("Enter");
  await panel().locator(".flame-graph .d3-flame-graph-label", { hasText: "Pool::Wait" }).waitFor();
  assert.equal(await threads.getByRole("button", { name: /^worker/ }).getAttribute("aria-pressed"), "true");
  await panel()
    .getByRole("application", { name: /thread worker/ })
    .focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.match(
    await panel().locator(".flame-text").textContent(),
    /Pool::Run .*: 4\.90 s|Pool::Run .*: 4\.9 s/,
  );
});

test("gives the whole trace in each format, Perfetto's first", async () => {
  const buttons = panel().locator(".trace-files button");
  const names = await buttons.allTextContents();
  assert.deepEqual(
    names.map((name) => name.replace("Download the trace for ", "")),
    ["Perfetto", "speedscope", "Chrome JSON", "pprof", "Collapsed stacks", "Nanoscope", "lwtrace"],
  );
  const files = {};
  for (let i = 0; i < names.length; ++i) {
    const [file] = await Promise.all([page.waitForEvent("download"), buttons.nth(i).click()]);
    const name = file.suggestedFilename();
    assert.ok(name.startsWith(`lagwatch-${report.traces[0].id}.`), name);
    files[name.slice(name.indexOf("."))] = readFileSync(await file.path());
  }
  assert.ok(files[".perfetto-trace"].includes("Library::LoadCover"));
  assert.match(files[".collapsed"].toString(), /^ui;main;EventLoop::Run;Player::OnFrame;Player::Draw \d+$/m);
  const profiles = JSON.parse(files[".speedscope.json"]).profiles.map((each) => each.name);
  for (const name of [/^ui/, /^worker/])
    assert.ok(
      profiles.some((each) => name.test(each)),
      profiles,
    );
  assert.ok(JSON.parse(files[".json"]).traceEvents.length > 10);
  assert.ok(gunzipSync(files[".lwtrace"]).includes("Library::LoadCover"));
  assert.ok(gunzipSync(files[".pb.gz"]).includes("Library::LoadCover"));
});

test("a cause marks its reports that have one", async () => {
  await page.go(`/causes/${report.cluster.level1}`);
  await page.locator(".reports tbody tr").first().waitFor();
  assert.ok((await page.locator(".reports .mark", { hasText: "trace" }).count()) > 1);
});

test("a report without a trace has no panel", async () => {
  const [other] = await collector.ask("/v1/reports?verdict=disk&limit=1");
  await page.go(`/reports/${other.id}`);
  await page.locator(".flame-graph g.frame").first().waitFor();
  assert.equal(await panel().count(), 0);
});

test("fits a phone", async () => {
  const phone = await browser.newPage({ collector, size: kPhone });
  await phone.go(`/reports/${report.id}`);
  await phone.locator(".trace .flame-graph g.frame").first().waitFor();
  const width = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(width <= 0, `${width} px wider than the window`);
  await takePicture(phone, "trace-phone", { fullPage: true });
  await phone.finish();
});

test("offers to ask for a trace where there is none", async () => {
  const [other] = await collector.ask("/v1/reports?verdict=disk&limit=1");
  const { cause_key } = await collector.ask(`/v1/reports/${other.id}`);
  await page.go(`/reports/${other.id}`);
  await page.getByRole("link", { name: "Request one with the next hang of this cause" }).click();
  const key = page.getByPlaceholder("cause key, hexadecimal");
  await key.waitFor();
  assert.equal(await key.inputValue(), cause_key);
});
