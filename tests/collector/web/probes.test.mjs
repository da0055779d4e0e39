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

const kScript = "d".repeat(64);
const card = (title) => page.locator("section.card", { has: page.getByRole("heading", { name: title }) });
const cells = async (table) => {
  const rows = await table.locator("tbody tr").all();
  return Promise.all(rows.map((row) => row.locator("th, td").allTextContents()));
};

test("what all clients have counted is a table, a histogram and a flame graph", async () => {
  await page.go("/probes");
  await page.getByRole("link", { name: "cache-use" }).click();
  await page.getByText("6 runs in programs of 3 users, 540 hits, 48 left out").waitFor();
  assert.deepEqual(await cells(card("by kind")), [
    ["cover", "360"],
    ["list", "180"],
  ]);
  await card("by kind").getByText("at least").waitFor();
  assert.deepEqual(
    (await cells(card("times"))).map(([from, hits]) => [from, hits]),
    [
      ["1.02 µs", "60"],
      ["2.05 µs", "300"],
      ["4.1 µs", "180"],
    ],
  );
  await card("callers").locator("g.frame", { hasText: "LoadCover" }).waitFor();
  await takePicture(page, "probes", { fullPage: true });
  await page.getByLabel("Version").selectOption("1.9");
  await page.getByText("3 runs in programs of 3 users, 270 hits").waitFor();
});

test("programs that did not run a script say why", async () => {
  await page.go("/probes/" + "e".repeat(64));
  await page.getByText("the script is not in the list of --fleet-probes").waitFor();
});

test("an admin asks for a probe, and withdraws it", async () => {
  await page.go("/settings");
  await page.getByLabel("Script").fill(kScript);
  await page.getByLabel("Program of the probe").fill("player");
  await page.getByRole("button", { name: "Add probe" }).click();
  const save = async () => {
    await page.getByRole("button", { name: "Review the changes" }).click();
    await page.getByRole("button", { name: "Sign and save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await save();
  const config = async () => (await collector.ask("/v1/admin/config")).config;
  assert.deepEqual((await config()).probe_requests, [{ script: kScript, app: "player", duration_s: 60 }]);
  await page.getByRole("button", { name: `Withdraw the probe ${kScript}` }).click();
  await save();
  assert.deepEqual(await config(), {});
});
