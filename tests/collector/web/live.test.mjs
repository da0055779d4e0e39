// SPDX-License-Identifier: Apache-2.0
// Live changes of the page, with real programs.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { takePicture } from "./support/browser.mjs";
import { startRedis, until } from "./support/collector.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page;
useCollector([], (ready) => ({ collector, browser } = ready));
usePage(
  () => browser.newPage({ collector }),
  (opened) => (page = opened),
);

const configVersion = async () => (await collector.ask("/v1/admin/config")).version;
// The versions of the config that the program keeps.
function keptVersions(spool) {
  return readdirSync(spool)
    .filter((name) => name.startsWith("config-"))
    .map((name) => {
      const { document } = JSON.parse(readFileSync(join(spool, name), "utf8"));
      return JSON.parse(Buffer.from(document, "base64").toString()).version;
    });
}

test("the first screen connects a program, whose first report appears by itself", async () => {
  await page.go("/");
  await page.getByRole("heading", { name: "Connect a program" }).waitFor();
  const commands = page.getByLabel("Commands");
  await page.getByRole("button", { name: "make a new one" }).click();
  await page.getByText("shown only now").waitFor();
  await takePicture(page, "connect");
  const lines = (await commands.textContent()).split("\n");
  assert.equal(lines.length, 3);
  const [endpoint, key] = lines.map((line) => line.split("=")[1]);
  assert.equal(endpoint, collector.url);
  await page.getByText("Waiting for the first report").waitFor();
  const redis = await startRedis({ url: endpoint, key }, { user: "u-1" });
  try {
    redis.freeze(1.2);
    await page
      .locator(".cause", { hasText: /sleep|redis/ })
      .first()
      .waitFor();
  } finally {
    await redis.stop();
  }
});

test("a new report appears on every page that it concerns", async () => {
  await page.go("/live");
  await page.getByText("waiting for new reports").waitFor();
  await page.locator(".reports tbody tr").first().waitFor();
  const before = await page.locator(".reports tbody tr").count();
  const redis = await startRedis(collector, { user: "u-2" });
  try {
    redis.freeze(1.2);
    await page.locator(".reports tr.fresh", { hasText: "u-2" }).waitFor();
    assert.equal(await page.locator(".reports tbody tr").count(), before + 1);
    await takePicture(page, "live");
    await page.getByText("1 new report since you opened this page").waitFor();
    // A cause says that there is more, and leaves what is looked at as it is.
    await page.locator(".reports tr.fresh td a[href^='/causes/']").click();
    await page.getByRole("application").waitFor();
    redis.freeze(1.2);
    await page.getByRole("button", { name: "Show it" }).click();
    await page.getByRole("button", { name: "Show it" }).waitFor({ state: "detached" });
  } finally {
    await redis.stop();
  }
});

test("an allowlisted user's report arrives at once, another's does not", async () => {
  await page.go("/settings");
  await page.getByPlaceholder("user").fill("u-forced");
  await page.getByRole("button", { name: "Add user" }).click();
  await page.getByRole("button", { name: "Review the changes" }).click();
  assert.match(await page.locator(".diff .added").textContent(), /u-forced/);
  await page.getByRole("button", { name: "Sign and save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.goto(`${collector.url}/live`);
  await page.getByText("waiting for new reports").waitFor();
  // Of neither's day anything is sent.
  const flags = ["--user-rate-ppm", "0", "--config-key", collector.configKey()];
  const [forced, other] = await Promise.all([
    startRedis(collector, { user: "u-forced", flags }),
    startRedis(collector, { user: "u-other", flags }),
  ]);
  try {
    await until(
      "the config",
      () => keptVersions(forced.spool).length > 0 && keptVersions(other.spool).length > 0,
    );
    other.freeze(1.2);
    forced.freeze(1.2);
    await page.locator(".reports tr.fresh", { hasText: "u-forced" }).waitFor();
    forced.freeze(1.2);
    await page.locator(".reports tr.fresh", { hasText: "u-forced" }).nth(1).waitFor();
    assert.deepEqual(await collector.ask("/v1/reports?user=u-other"), []);
  } finally {
    await Promise.all([forced.stop(), other.stop()]);
  }
});

test("a setting that is changed reaches a running program within one poll", async () => {
  const flags = ["--config-key", collector.configKey()];
  const redis = await startRedis(collector, { user: "u-3", flags });
  try {
    const before = await configVersion();
    await until("the first config", () => keptVersions(redis.spool).includes(before));
    await page.go("/settings");
    await page.getByLabel("Reports per user and day").fill("7");
    await page.getByRole("button", { name: "Review the changes" }).click();
    await page.getByRole("button", { name: "Sign and save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const now = await configVersion();
    assert.ok(now > before);
    // The answer to an upload names the new version; the program requests it a minute after its last request,
    // at the earliest.
    redis.freeze(1.2);
    await until("the new config", () => keptVersions(redis.spool).includes(now), 75);
  } finally {
    await redis.stop();
  }
});
