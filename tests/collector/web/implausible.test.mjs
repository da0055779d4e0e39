// SPDX-License-Identifier: Apache-2.0
// Reports whose numbers and times no program can have: the page shows them marked, and all others beside them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { useCollector } from "./support/setup.mjs";

// Retention would take reports of 1970 away before they are looked at.
let collector, browser;
useCollector([["implausible"]], async (ready) => ({ collector, browser } = ready), ["--retention-days", "0"]);

// Their tags say which number is bad.
const kGood = ["before", "after"];
const kBadInLists = ["start_wall_ms", "start_wall_ms most", "elapsed_ns most"];

async function withPage(path, look) {
  const page = await browser.newPage({ collector });
  await page.go(path);
  await look(page);
  assert.equal(await page.getByRole("alert").count(), 0, `${path}: every part is shown`);
  await page.finish();
}

const rowOf = (page, tag) =>
  page.locator(".reports tbody tr", { has: page.getByRole("cell", { name: tag, exact: true }) });

async function lookAtRows(page, tags) {
  await page.locator(".reports tbody tr").first().waitFor();
  for (const tag of tags) {
    const isBad = !kGood.includes(tag);
    assert.equal(await rowOf(page, tag).count(), 1, `there is a row of ${tag}`);
    assert.equal(await rowOf(page, tag).locator(".mark.odd").count(), isBad ? 1 : 0, tag);
  }
}

test("the newest reports are all there, and the bad ones marked", () =>
  withPage("/live", async (page) => {
    await lookAtRows(page, [...kGood, ...kBadInLists]);
    const title = await rowOf(page, "start_wall_ms").locator(".mark.odd").getAttribute("title");
    assert.match(title, /implausible: its begin/);
    assert.match(await rowOf(page, "start_wall_ms").textContent(), /no valid time/);
    const reports = await collector.ask("/v1/reports?limit=100");
    assert.equal(await page.locator(".reports tbody tr").count(), reports.length);
  }));

test("the list of causes has them all", () =>
  withPage("/", async (page) => {
    await page.locator("[data-row]").first().waitFor();
    const causes = await collector.ask("/v1/clusters?limit=1000");
    assert.ok(causes.length > 40);
    assert.equal(await page.locator(".cause-grid").getAttribute("aria-rowcount"), `${causes.length + 1}`);
    await page.locator('input[name="q"]').fill("Leaf before");
    await page.locator("[data-row]", { hasText: "Leaf before" }).waitFor();
  }));

test("a cause with a bad report shows it, marked, among its others", async () => {
  for (const tag of ["start_wall_ms", "elapsed_ns most", "id", "before"]) {
    const reports = await collector.ask("/v1/reports?limit=1000");
    const report = reports.find((each) => each.tag === tag);
    await withPage(`/causes/${report.cluster.level1}`, async (page) => {
      await page.locator(".flame-graph g.frame").first().waitFor();
      await lookAtRows(page, kBadInLists.includes(tag) || kGood.includes(tag) ? [tag] : []);
    });
  }
});

test("each report is shown, whatever its numbers are", { timeout: 300_000 }, async () => {
  const reports = await collector.ask("/v1/reports?limit=1000");
  assert.ok(reports.length > 40, `${reports.length} reports`);
  const page = await browser.newPage({ collector });
  await page.go("/live");
  for (const { id, tag } of reports) {
    await page.evaluate((address) => {
      history.pushState(null, "", address);
      dispatchEvent(new PopStateEvent("popstate"));
    }, `/reports/${id}`);
    await page.locator("h1", { hasText: "implausible" }).waitFor();
    await page.locator("section.card", { hasText: id }).waitFor();
    const alerts = await page.getByRole("alert").allTextContents();
    assert.deepEqual(alerts, [], tag);
    if (kGood.includes(tag)) assert.equal(await page.locator(".report-head .mark.odd").count(), 0, tag);
    if (tag.startsWith("all ")) assert.equal(await page.locator(".report-head .mark.odd").count(), 1, tag);
  }
  await page.finish();
});

test("the hang rate survives", () =>
  withPage("/hang-rate", async (page) => {
    await page.locator("table tbody tr").first().waitFor();
    assert.match(await page.locator("main").textContent(), /1\.0/);
  }));

// What nobody thought of: an answer that is not what it should be.
test("a row that cannot be made leaves the others, and says so", async () => {
  const page = await browser.newPage({ collector });
  await page.route("**/v1/reports?*", async (route) => {
    const answer = await route.fetch();
    const reports = await answer.json();
    delete reports[1].cause;
    await route.fulfill({ json: reports });
  });
  await page.go("/live");
  await page.locator(".reports tbody tr.bad").waitFor();
  assert.match(await page.locator(".reports tbody tr.bad").textContent(), /cannot be shown here/);
  const reports = await collector.ask("/v1/reports?limit=100");
  assert.equal(await page.locator(".reports tbody tr:not(.bad)").count(), reports.length - 1);
  await page.finish();
});

test("a part that cannot be made leaves the others, and a page that cannot be made the way to others", async () => {
  const [{ id }] = await collector.ask("/v1/reports?limit=1");
  const page = await browser.newPage({ collector });
  const breakReport = (damage) =>
    page.route(`**/v1/reports/${id}?*`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: damage(await answer.json()) });
    });
  await breakReport((report) => ({ ...report, verdict: { word: "cpu" } }));
  await page.go(`/reports/${id}`);
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").textContent(), /cannot be shown: the verdict's numbers/);
  await page.locator(".flame-graph g.frame").first().waitFor();
  await page.unroute(`**/v1/reports/${id}?*`);
  await breakReport((report) => ({ ...report, cause: null, samples: null }));
  await page.go(`/reports/${id}?again`);
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").textContent(), /cannot be shown: the page/);
  await page.unroute(`**/v1/reports/${id}?*`);
  await page.getByRole("link", { name: "Live" }).click();
  await page.locator(".reports tbody tr").first().waitFor();
  await page.finish();
});
