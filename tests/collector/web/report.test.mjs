// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { kDesktop, kPhone, takePicture } from "./support/browser.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page, id;
useCollector(["story"], async (ready) => {
  ({ collector, browser } = ready);
  id = (await collector.ask("/v1/reports?verdict=lock&limit=1"))[0].id;
});
usePage(
  () => browser.newPage({ collector }),
  async (opened) => {
    page = opened;
    await page.go(`/reports/${id}`);
    await page.locator(".flame-graph g.frame").first().waitFor();
  },
);

const card = (title) => page.locator("section.card", { has: page.getByRole("heading", { name: title }) });
const download = async (name) => {
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name }).click(),
  ]);
  return readFileSync(await file.path(), "utf8");
};

test("tells what happened, why, and who waits for whom", async () => {
  assert.match(await page.locator("h1").textContent(), /^Index::Lookup froze editor 2\.[34]\.\d for \d/);
  assert.match(await page.locator("main section.card h2").first().textContent(), /Flame graph/);
  assert.match(await page.locator(".packages").textContent(), /100 % in editor/);
  const line = page.locator(".timeline");
  assert.equal(await line.locator(".sample").count(), 20);
  assert.equal(await line.locator(".dispatch").count(), 6);
  assert.match(await card("Why").textContent(), /waiting for a lock.*900 ms.*90 %/);
  const waits = await card("Wait chain").textContent();
  assert.match(waits, /Index::Lookup.*waits for mutex.*indexer.*Index::Rebuild/);
  const threads = card("Threads");
  assert.match(await threads.textContent(), /Pool::Wait/);
  assert.match(await card("Modules").textContent(), /\/usr\/bin\/editor/);
  assert.match(await card("Context").textContent(), /scene.*inbox/);
  assert.match(
    await page.locator(".report-head").textContent(),
    new RegExp(
      new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "Europe/Berlin" }).format(
        (await collector.ask(`/v1/reports/${id}`)).start_wall_ms,
      ),
    ),
    "times are in the reader's zone",
  );
});

test("gives JSON as the collector has it", async () => {
  assert.deepEqual(JSON.parse(await download("JSON")), await collector.ask(`/v1/reports/${id}`));
});

test("gives collapsed stacks that add up to the samples", async () => {
  const lines = (await download("Collapsed")).trim().split("\n");
  const report = await collector.ask(`/v1/reports/${id}`);
  const ns = lines.reduce((sum, line) => sum + Number(/ (\d+)$/.exec(line)[1]), 0);
  assert.equal(ns, Math.round(report.samples[0].age_ms * 1e6));
  assert.ok(
    lines.every((line) => /^[^;]+;main;/.test(line)),
    lines[0],
  );
});

test("gives a speedscope file", async () => {
  const file = JSON.parse(await download("speedscope"));
  const report = await collector.ask(`/v1/reports/${id}`);
  const [inOrder, byTime] = file.profiles;
  assert.equal(file.shared.frames[inOrder.events[0].frame].name, "main");
  assert.equal(inOrder.endValue, Math.round(report.samples[0].age_ms * 1e6));
  assert.equal(
    byTime.endValue,
    byTime.weights.reduce((a, b) => a + b, 0),
  );
});

test("is copied as text", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: collector.url });
  await page.getByRole("button", { name: "Copy as text" }).click();
  await page.getByText("Copied").waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^Index::Lookup froze editor 2\.[34]\.\d for/);
  assert.match(text, /waits at Index::Lookup for mutex .* held by thread \d+ \(indexer\) at Index::Rebuild/);
  assert.match(text, /Most expensive stack\n {4}Index::Lookup/);
});

test("leads to its cause", async () => {
  await page.locator(".report-head a", { hasText: "Index::Lookup" }).click();
  await page.getByRole("heading", { name: "Index::Lookup" }).waitFor();
});

for (const size of [kDesktop, kPhone]) {
  test(`draws the hang once, and nothing outside of its card, ${size.width} px wide`, async () => {
    const shown = await browser.newPage({ collector, size });
    await shown.route(`**/v1/reports/${id}?*`, async (route) => {
      const report = await (await route.fetch()).json();
      // As programs report a hang that is over: the loop's last dispatch is the hang.
      const hang = { tag: "find", age_ms: 0, wall_ms: report.elapsed_ms, cpu_ms: 0, queue_wait_ms: 0 };
      await route.fulfill({ json: { ...report, history: [...report.history, hang] } });
    });
    await shown.go(`/reports/${id}`);
    await shown.locator(".timeline .hang").waitFor();
    assert.equal(await shown.locator(".timeline .dispatch").count(), 6);
    assert.match(await shown.locator(".timeline details summary").textContent(), /6 dispatches before/);
    const card = await shown.locator(".timeline").boundingBox();
    for (const box of await shown.locator(".lane-line > i").all()) {
      const { x, width } = await box.boundingBox();
      assert.ok(x >= card.x && x + width <= card.x + card.width + 1, `from ${x}, ${width} px wide`);
    }
    await shown.finish();
  });
}

test("says that a report is not there", async () => {
  page.expect("404");
  await page.goto(`${collector.url}/reports/01a229b8-113d-74f4-b50d-000000000000`);
  await page.getByRole("heading", { name: "No such report" }).waitFor();
  assert.ok(await page.locator("main").getByRole("link", { name: "all causes" }).isVisible());
});

test("looks right by night and on a phone", async () => {
  for (const [name, options] of [
    ["report-light", {}],
    ["report-dark", { dark: true }],
    ["report-phone", { size: kPhone }],
  ]) {
    const shown = await browser.newPage({ collector, ...options });
    await shown.go(`/reports/${id}`);
    await shown.locator(".flame-graph g.frame").first().waitFor();
    const width = await shown.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `${name}: ${width} px wider than the window`);
    await takePicture(shown, name, { fullPage: true });
    await shown.finish();
  }
});
