// SPDX-License-Identifier: Apache-2.0
// The questions of an analyst (docs/analysis.md) on the page, about a month with planted truths: each takes two steps at
// most from the list of causes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { takePicture } from "./support/browser.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page;
useCollector([["month", 20]], (ready) => ({ collector, browser } = ready));
usePage(
  () => browser.newPage({ collector }),
  (opened) => (page = opened),
);

const rows = () => page.locator(".cause.level1");
const row = (name) => page.locator(".cause.level1", { hasText: name });
const rowsSettle = (count) =>
  page.waitForFunction((wanted) => document.querySelectorAll(".cause").length === wanted, count);
const card = (title) => page.locator("section.card", { has: page.getByRole("heading", { name: title }) });
const parts = () => card("Breakdown").locator(".part-name").allTextContents();
// Of a list with so many rows.
async function openCause(address, name) {
  await page.go(address);
  await row(name).locator("a").click();
  await card("Breakdown").locator(".part-name").first().waitFor();
}
async function breakDown(address) {
  await page.go(address);
  await rows().first().waitFor();
  await page.getByRole("button", { name: "Breakdown" }).click();
  await card("Breakdown").locator(".part-name").first().waitFor();
}

test("which causes matter most in a version", async () => {
  await page.go("/?app=editor&version=2.4.0");
  await rows().first().waitFor();
  assert.match(await rows().first().textContent(), /Index::Lookup.*held by Index::Rebuild/);
  assert.equal(await row("ParseOutline").count(), 0);
});

test("whether a version has fixed a cause", async () => {
  await page.go("/?app=editor");
  await row("ParseOutline").getByText("not seen since").waitFor();
  assert.match(await row("ParseOutline").textContent(), /2\.0\.0 … 2\.3\.0/);
  await row("ParseOutline").locator("a").click();
  await card("Version by version").getByText("2.4.0").waitFor();
  assert.match(await card("Version by version").textContent(), /2\.4\.0\s*none/);
});

test("which causes are new in a version", async () => {
  // Versions of different programs have no order.
  await page.go("/?new_in=2.4.0");
  await rows().first().waitFor();
  assert.equal(await page.getByLabel("New in version").count(), 0);
  await page.go("/?app=editor");
  await rows().first().waitFor();
  await page.getByRole("button", { name: "More filters" }).click();
  await page.getByLabel("New in version").fill("2.4.0");
  await rowsSettle(1);
  assert.match(await rows().first().textContent(), /SpellCheck::Word/);
});

test("which distributions and kernels a cause is on", async () => {
  await openCause("/?app=editor&q=gpu", "Gpu::Upload");
  assert.deepEqual(await parts(), ["Fedora Linux 41"]);
  assert.match(await card("Breakdown").textContent(), /100 %/);
  await openCause("/?app=editor&q=journal", "Journal::Flush");
  await card("Breakdown").getByRole("button", { name: "Kernel or system" }).click();
  assert.equal((await parts())[0], "Linux 6.8.0-45-generic");
});

test("whether a cause is one user's", async () => {
  await openCause("/?app=editor&q=backup", "Backup::Copy");
  assert.match(await card("Breakdown").locator(".users-of").textContent(), /hangs of 1 user$/);
  await openCause("/?app=editor&q=savefile", "SaveFile");
  const { all } = await collector.ask(
    `/v1/clusters/${new URL(page.url()).pathname.split("/").at(-1)}/breakdown`,
  );
  assert.ok(all.users > 20 && all.largest_user_share < 0.2, JSON.stringify(all));
  assert.match(
    await card("Breakdown").locator(".users-of").textContent(),
    new RegExp(`${all.hangs} hangs of ${all.users} users; the user with the most time has`),
  );
});

test("which plug-in a cause is in, and its first and last version", async () => {
  await page.go("/?state=all");
  await row("ParseOutline").getByText("in liboutline.so").waitFor();
  assert.match(await row("Gpu::Upload").textContent(), /2\.2\.0 … 2\.4\.0/);
  assert.match(await row("Playlist::Load").textContent(), /1\.8/);
});

test("how much versions hang per hour of use", async () => {
  const asked = await collector.ask("/v1/usage?app=editor");
  await page.go("/hang-rate?app=editor");
  const table = card("Versions");
  for (const { version, hangs } of asked) {
    const line = table.locator("tr", { has: page.getByRole("rowheader", { name: version }) });
    assert.match(await line.textContent(), new RegExp(`${hangs}`), version);
  }
});

test("what the longest hangs have in common", async () => {
  await breakDown("/");
  await page.getByLabel("Lasted").selectOption("20000");
  const { all } = await collector.ask("/v1/breakdown?least_ms=20000");
  await card("Breakdown")
    .locator(".users-of", { hasText: `${all.hangs} hangs of` })
    .waitFor();
  for (const [tab, expected] of [
    ["Dispatch", "sync"],
    ["Verdict", "network"],
    ["Distribution", "Debian GNU/Linux 12 (bookworm)"],
  ]) {
    await card("Breakdown").getByRole("button", { name: tab }).click();
    assert.deepEqual(await parts(), [expected]);
  }
  await takePicture(page, "breakdown");
});

test("which causes are in a loop", async () => {
  await page.go("/?loop=wayland");
  await rowsSettle(1);
  assert.match(await rows().first().textContent(), /Gpu::Upload/);
});

test("why hangs take their time, each word a link to its causes", async () => {
  await breakDown("/?app=editor");
  await card("Breakdown").getByRole("button", { name: "Verdict" }).click();
  const { verdict } = await collector.ask("/v1/breakdown?app=editor");
  assert.deepEqual(
    await parts(),
    verdict.values.map((each) => each.value),
  );
  await card("Breakdown").getByRole("link", { name: "lock" }).click();
  await page.waitForFunction(
    () => location.search.includes("verdict=lock") && location.search.includes("app=editor"),
  );
  await rowsSettle(1);
});
