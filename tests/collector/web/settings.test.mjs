// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { takePicture } from "./support/browser.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page;
useCollector(["story"], (ready) => ({ collector, browser } = ready));
usePage(
  () => browser.newPage({ collector }),
  (opened) => (page = opened),
);

const config = async () => (await collector.ask("/v1/admin/config")).config;
const lookAtChanges = () => page.getByRole("button", { name: "Review the changes" });
const save = async () => {
  await lookAtChanges().click();
  await page.getByRole("button", { name: "Sign and save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
};

test("refuses what is out of its range, and shows what would change before it is saved", async () => {
  await page.go("/settings");
  const rate = page.getByLabel("Users who report on a day");
  await rate.fill("1000001");
  await page.getByText("Must be a whole number from 0 to 1000000").waitFor();
  assert.ok(await lookAtChanges().isDisabled());
  await rate.fill("100000");
  await page.getByText("10 %").waitFor();
  await page.getByLabel("A dispatch is a hang after").fill("700");
  await lookAtChanges().click();
  const added = (await page.locator(".diff .added").allTextContents()).join("");
  assert.match(added, /\+ {3}"user_rate_ppm": 100000/);
  assert.match(added, /\+ {3}"threshold_ms": 700/);
  assert.equal(await config(), null, "nothing is saved before it was looked at");
  await takePicture(page, "settings-diff");
  await page.getByRole("button", { name: "Sign and save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(await config(), { user_rate_ppm: 100000, threshold_ms: 700 });
  await takePicture(page, "settings", { fullPage: true });
});

test("goes back to an earlier version, which the audit log tells", async () => {
  await page.go("/settings");
  await page.getByLabel("A dispatch is a hang after").fill("900");
  await save();
  assert.equal((await config()).threshold_ms, 900);
  await page.getByRole("button", { name: "Restore" }).first().click();
  await page.locator(".diff .removed", { hasText: "900" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await config()).threshold_ms, 700);
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByText("config.rollback").waitFor();
  assert.equal(await page.getByText("config.put").count(), 2);
});

test("says so when somebody else was faster", async () => {
  page.expect("412");
  await page.go("/settings");
  await page.getByLabel("Reports per user and day").fill("5");
  await collector.ask("/v1/admin/config", { method: "PUT", body: JSON.stringify({ threshold_ms: 800 }) });
  await lookAtChanges().click();
  await page.getByRole("button", { name: "Sign and save" }).click();
  await page.getByRole("alert").getByText("look at it again").waitFor();
  assert.deepEqual(await config(), { threshold_ms: 800 });
});

test("takes capture requests, overrides and the emergency stop", async () => {
  await page.go("/settings");
  await page.getByPlaceholder("cause key, hexadecimal").fill("00ab");
  await page.getByPlaceholder("version, or any").fill("2.4.0");
  await page.getByRole("button", { name: "Add request" }).click();
  await page.getByLabel("Turn lagwatch off in all programs").check();
  await page.getByText("The whole config as JSON").click();
  const json = page.getByLabel("Config", { exact: true });
  const written = JSON.parse(await json.inputValue());
  await json.fill("{");
  await page.getByRole("alert").waitFor();
  assert.ok(await lookAtChanges().isDisabled());
  await json.blur();
  assert.equal(await json.inputValue(), "{", "what was typed stays to be mended");
  await json.fill(JSON.stringify({ ...written, overrides: [{ app: "player", threshold_ms: 1500 }] }));
  await save();
  assert.deepEqual(await config(), {
    threshold_ms: 800,
    capture_requests: [{ cluster: "00ab", app_version: "2.4.0" }],
    is_killed: true,
    overrides: [{ app: "player", threshold_ms: 1500 }],
  });
  // The page shows the reason for the collector's refusal, and the draft stays.
  page.expect("400");
  await page.getByText("The whole config as JSON").click();
  await page.getByLabel("Config", { exact: true }).fill(JSON.stringify({ no_such_key: 1 }));
  await lookAtChanges().click();
  await page.getByRole("button", { name: "Sign and save" }).click();
  await page.getByRole("alert").getByText("no_such_key").waitFor();
});

test("makes keys, shows them once, and revokes them", async () => {
  await page.go("/settings?part=keys");
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("ci reader");
  await dialog.getByLabel("It may").selectOption("read");
  await dialog.getByLabel("Expires after days").fill("1");
  await dialog.getByRole("button", { name: "Create" }).click();
  // A key's name is part of an address: letters, digits, dots, dashes and underscores.
  page.expect("400");
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("Name").fill("ci-reader");
  await dialog.getByRole("button", { name: "Create" }).click();
  const key = await page.locator(".new-key").textContent();
  assert.match(key, /^r_/);
  assert.equal(
    (await fetch(`${collector.url}/v1/clusters`, { headers: { Authorization: `Bearer ${key}` } })).status,
    200,
  );
  await takePicture(page, "keys");
  await page.locator("tr", { hasText: "ci-reader" }).getByRole("button", { name: "Revoke" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.locator("tr", { hasText: "ci-reader" }).waitFor({ state: "detached" });
  assert.equal(
    (await fetch(`${collector.url}/v1/clusters`, { headers: { Authorization: `Bearer ${key}` } })).status,
    401,
  );
});

test("deletes what is there of a user", async () => {
  const [report] = (await collector.ask("/v1/reports?limit=1000")).filter((each) => each.user !== "");
  await page.go("/settings?part=deletions");
  await page.getByLabel("Delete").selectOption("user");
  await page.getByLabel("Its name").fill(report.user);
  await page.getByRole("button", { name: "Delete …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(report.user).waitFor();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.locator("tr", { hasText: "user sha256:" }).getByText("done").waitFor();
  assert.deepEqual(await collector.ask(`/v1/reports?user=${encodeURIComponent(report.user)}`), []);
});

test("shows the hang rate of each version and day", async () => {
  await page.go("/hang-rate");
  await page
    .getByRole("img", { name: /Hang rate of/ })
    .locator("canvas")
    .waitFor();
  await page.getByLabel("Program").selectOption("editor");
  await page.getByRole("img", { name: "Hang rate of editor" }).waitFor();
  const asked = (await collector.ask("/v1/usage")).find(
    (usage) => usage.app === "editor" && usage.version === "2.4.0",
  );
  const row = page.locator("tr", { has: page.getByRole("link", { name: "2.4.0" }) });
  for (const perHour of [asked.lagged_ms_per_hour.all, asked.background.lagged_ms_per_hour]) {
    const seconds = (perHour / 1000).toLocaleString("en-GB", { maximumSignificantDigits: 3 });
    assert.match(await row.textContent(), new RegExp(`${seconds} s/h`));
  }
  await page.getByRole("button", { name: "Median user" }).click();
  await page.getByText("As a table").first().click();
  assert.ok((await page.locator(".chart tbody tr").count()) >= 13);
  await takePicture(page, "hang-rate");
});
