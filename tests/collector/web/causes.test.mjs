// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { kPhone, takePicture } from "./support/browser.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page;
useCollector(["story"], (ready) => ({ collector, browser } = ready));
usePage(
  () => browser.newPage({ collector }),
  (opened) => (page = opened),
);

const rows = () => page.locator(".cause");
const names = async () =>
  (await page.locator(".cause.level1 .name b").allTextContents()).map((each) => each.trim());
const rowsSettle = (count) =>
  page.waitForFunction((wanted) => document.querySelectorAll(".cause").length === wanted, count);

test("lists what the collector has, the costliest first", async () => {
  const asked = await collector.ask("/v1/clusters");
  await page.go("/");
  await rowsSettle(asked.length);
  assert.deepEqual(
    await names(),
    asked.map((cause) => cause.frames[0]),
  );
  assert.match(await page.title(), /Causes/);
  assert.match(await rows().first().textContent(), /network/);
  assert.equal(await page.locator(".cause .sparkline").count(), asked.length);
  assert.ok((await page.locator(".mark.new").count()) > 0);
  assert.equal(new URL(page.url()).hash, "", "the token is gone from the address");
});

test("opens a row to its callers, and goes from level 1 to level 2", async () => {
  await page.go("/");
  const save = page.locator(".cause.level1", { hasText: "SaveFile" });
  await save.getByRole("button", { name: "Show by caller" }).click();
  const parts = page.locator(".cause.level2");
  await parts.first().waitFor();
  assert.equal(await parts.count(), 2);
  assert.match((await parts.allTextContents()).join(), /AutoSave::OnTimer/);
  await parts.filter({ hasText: "AutoSave::OnTimer" }).locator("a").click();
  await page.getByRole("link", { name: "the whole cause" }).waitFor();
  assert.match(
    await page.locator(".stack-line").textContent(),
    /SaveFile ← Editor::OnSave ← AutoSave::OnTimer/,
  );
});

test("keeps search and filters in the address, and takes them from there", async () => {
  await page.go("/");
  await rows().first().waitFor();
  await page.getByLabel("Search functions and titles").fill("index::look");
  await rowsSettle(2);
  assert.deepEqual(await names(), ["Index::Lookup", "Index::Lookup"]);
  await page.getByLabel("Version").fill("2.4.0");
  await page.waitForFunction(() => location.search.includes("version=2.4.0"));
  assert.match(page.url(), /q=index/);
  const other = await browser.newPage({ collector });
  await other.go(new URL(page.url()).pathname + new URL(page.url()).search);
  await other.locator(".cause").first().waitFor();
  assert.equal(await other.getByLabel("Search functions and titles").inputValue(), "index::look");
  assert.equal(await other.locator(".cause").count(), 2);
  await other.finish();
});

for (const [label, value, count] of [
  ["Program", "player", 3],
  ["Version", "2.4.0", 3],
]) {
  test(`filters by ${label}`, async () => {
    await page.go("/");
    await rows().first().waitFor();
    await page.getByLabel(label).fill(value);
    await rowsSettle(count);
  });
}

test("filters by verdict, time, loop, system and user", async () => {
  await page.go("/");
  await rows().first().waitFor();
  await page.getByLabel("Verdict").selectOption("lock");
  await rowsSettle(2);
  await page.getByLabel("Verdict").selectOption("");
  await page.getByLabel("Time").selectOption("1");
  await page.waitForFunction(() => location.search.includes("days=1"));
  await page.getByRole("button", { name: "More filters" }).click();
  await page.getByLabel("Loop").fill("no such loop");
  await page.getByRole("heading", { name: "No hangs match" }).waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await rowsSettle(7);
  await page.locator("[name=os]").fill("Linux 6.1.0");
  await page.getByLabel("User").fill("u-3");
  await page.waitForFunction(() => location.search.includes("user=u-3") && location.search.includes("os="));
  await rows().first().waitFor();
});

test("takes text away that has no effect yet", async () => {
  await page.go("/?app=player");
  await rows().first().waitFor();
  await page.getByRole("button", { name: "More filters" }).click();
  await page.getByLabel("Loop").fill("no such loop");
  await page.getByRole("button", { name: "Clear" }).click();
  await rowsSettle(7);
  await page.waitForTimeout(500);
  assert.equal(new URL(page.url()).search, "");
  assert.equal(await page.getByLabel("Loop").inputValue(), "");
});

test("gives the list as CSV", async () => {
  await page.go("/?app=player");
  await rows().first().waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV" }).click(),
  ]);
  const text = readFileSync(await download.path(), "utf8");
  assert.match(text.split("\n")[0], /key/);
  assert.match(text, /Http::Read < Http::Fetch/);
  assert.doesNotMatch(text, /ParseOutline/);
});

test("says what went wrong, and works when it is tried again", async () => {
  let isBroken = true;
  page.expect("503");
  await page.route("**/v1/clusters?*", (route) =>
    isBroken
      ? route.fulfill({
          status: 503,
          json: { error: { code: "unavailable", message: "the store does not answer" } },
        })
      : route.continue(),
  );
  await page.go("/");
  await page.getByText("the store does not answer").waitFor();
  isBroken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await rows().first().waitFor();
});

test("looks right by day, by night and on a phone", async () => {
  for (const [name, options] of [
    ["causes-light", {}],
    ["causes-dark", { dark: true }],
    ["causes-phone", { size: kPhone }],
    ["causes-phone-dark", { size: kPhone, dark: true }],
  ]) {
    const shown = await browser.newPage({ collector, ...options });
    await shown.go("/");
    await shown.locator(".cause").first().waitFor();
    const width = await shown.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `${name}: ${width} px wider than the window`);
    await takePicture(shown, name);
    await shown.finish();
  }
});

test("lets nobody in without a token", async () => {
  const stranger = await browser.newPage({ collector, token: "" });
  stranger.expect("401");
  await stranger.go("/");
  await stranger.getByLabel("Read or admin token").fill("r_nobody");
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await stranger.getByRole("alert").waitFor();
  await stranger.getByLabel("Read or admin token").fill(collector.key);
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await stranger.getByText("project key").first().waitFor();
  await stranger.getByLabel("Read or admin token").fill(collector.token);
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await stranger.locator(".cause").first().waitFor();
  await stranger.getByRole("button", { name: "Sign out" }).click();
  await stranger.getByLabel("Read or admin token").waitFor();
  await stranger.finish();
});
