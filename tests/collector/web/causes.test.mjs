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
    [...asked.filter((cause) => !cause.not_seen_since), ...asked.filter((cause) => cause.not_seen_since)].map(
      (cause) => cause.frames[0],
    ),
    "those that the newest version does not have come last",
  );
  assert.equal((await names()).at(-1), "ParseOutline");
  assert.match(await rows().last().textContent(), /2\.3\.0 … 2\.3\.1.*not seen since/);
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

test("filters by distribution, kind and dispatch, with what there is to choose from", async () => {
  await page.go("/");
  await rows().first().waitFor();
  await page.getByRole("button", { name: "More filters" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#known-distribution option").length === 3);
  const known = await page
    .locator("#known-distribution option")
    .evaluateAll((all) => all.map((each) => each.value));
  assert.deepEqual(known, (await collector.ask("/v1/values")).distribution);
  await page.getByLabel("Distribution").fill(known[2]);
  await page.waitForFunction(() => location.search.includes("distribution="));
  const asked = await collector.ask(`/v1/clusters?distribution=${encodeURIComponent(known[2])}`);
  await rowsSettle(asked.length);
  await page.getByLabel("Dispatch").fill("save");
  await rowsSettle(1);
  await page.getByLabel("Kind").fill("slow");
  await page.getByRole("heading", { name: "No hangs match" }).waitFor();
});

test("says which plug-in spent the time, where the program is not all of it", async () => {
  await page.go("/");
  const paste = page.locator(".cause", { hasText: "ParseOutline" });
  await paste.getByText("100 % in liboutline.so").waitFor();
  assert.equal(await page.locator(".in-package").count(), 1);
  await paste.locator("a").click();
  await page.locator(".packages", { hasText: "100 % in liboutline.so" }).waitFor();
});

test("a phone counts one user as one", async () => {
  const phone = await browser.newPage({ collector, size: kPhone });
  await phone.route("**/v1/clusters?*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: answer.map((cause) => ({ ...cause, users: 1 })) });
  });
  await phone.go("/");
  await phone.locator(".cause").first().waitFor();
  const text = await phone.locator(".cause").first().innerText();
  assert.match(text, /1 user\b/);
  assert.doesNotMatch(text, /1 users/);
  await phone.unrouteAll({ behavior: "ignoreErrors" });
  await phone.finish();
});

test("unknown paths are pages with a way on", async () => {
  page.expect("404");
  const answer = await page.goto(`${collector.url}/no/such/page#token=${collector.token}`);
  assert.equal(answer.status(), 404);
  await page.getByRole("heading", { name: "This page does not exist" }).waitFor();
  await page.locator("main").getByRole("link", { name: "All causes" }).click();
  await rows().first().waitFor();
  const text = await fetch(`${collector.url}/no/such/page`);
  assert.equal(text.status, 404);
  assert.match(text.headers.get("content-type"), /json/, "programs get the error as JSON");
});

test("a token in the address of an open tab is taken, and a wrong one is refused with a reason", async () => {
  page.expect("401");
  await page.go("/");
  await rows().first().waitFor();
  const { key: token } = await collector.ask("/v1/admin/keys", {
    method: "POST",
    body: JSON.stringify({ name: "second", access: "read" }),
  });
  await page.evaluate((text) => (location.hash = `token=${text}`), token);
  await page.getByTitle("Signed in with the read key “second”").waitFor();
  assert.equal(new URL(page.url()).hash, "");
  await page.evaluate(() => (location.hash = "token=r_wrong"));
  await page.getByText("this collector does not know the token").waitFor();
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
