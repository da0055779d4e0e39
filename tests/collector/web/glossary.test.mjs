// SPDX-License-Identifier: Apache-2.0
// The glossary, and the way to it from the words of the other pages.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { useCollector, usePage } from "./support/setup.mjs";

const kSource = readFileSync(new URL("../../../docs/glossary.md", import.meta.url), "utf8");

let collector, browser, page;
useCollector(["story"], async (ready) => ({ collector, browser } = ready));
usePage(
  () => browser.newPage({ collector }),
  async (opened) => (page = opened),
);

test("has the entries of the documentation", async () => {
  await page.go("/glossary");
  await page.locator(".glossary dt").first().waitFor();
  const names = [...kSource.matchAll(/^## (.*)$/gm)].map(([, name]) => name);
  assert.deepEqual(await page.locator(".glossary dt").allTextContents(), names);
  assert.deepEqual(names, [...names].sort(new Intl.Collator("en", { ignorePunctuation: true }).compare));
  const text = await page.locator(".glossary").innerText();
  assert.doesNotMatch(text, /[`*\]]/, "marks of Markdown");
  // Each link within the list leads to an entry.
  const ids = await page.locator(".glossary > div").evaluateAll((all) => all.map((each) => each.id));
  for (const address of await page.locator(".glossary a").evaluateAll((all) => all.map((each) => each.hash)))
    assert.ok(ids.includes(address.slice(1)), address);
});

test("finds a word", async () => {
  await page.go("/glossary");
  await page.getByPlaceholder("Find a word").fill("deadlock");
  await page.waitForFunction(() => document.querySelectorAll(".glossary dt").length === 1);
  assert.equal(await page.locator(".glossary dt").textContent(), "Wait chain");
});

test("is a click away from each marked word", async () => {
  await page.go("/glossary");
  await page.locator(".glossary dt").first().waitFor();
  const ids = await page.locator(".glossary > div").evaluateAll((all) => all.map((each) => each.id));
  const [cause] = await collector.ask("/v1/clusters?verdict=lock");
  const [report] = await collector.ask("/v1/reports?verdict=lock&limit=1");
  for (const path of ["/", "/hang-rate", `/causes/${cause.key}`, `/reports/${report.id}`]) {
    await page.goto(collector.url + path);
    await page.locator("main .term").first().waitFor();
    await page.waitForFunction(() => document.querySelectorAll("main .term").length >= 3);
    for (const address of await page.locator("main .term").evaluateAll((all) => all.map((each) => each.hash)))
      assert.ok(ids.includes(address.slice(1)), `${path}: ${address}`);
  }
  await page.locator("main .term", { hasText: "Wait chain" }).click();
  await page.locator(".glossary .target dt", { hasText: "Wait chain" }).waitFor();
  assert.ok(
    await page.locator(".glossary .target").evaluate((entry) => {
      const { top, bottom } = entry.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    }),
    "the entry is in sight",
  );
  // From one entry to the next.
  await page.locator(".glossary .target a", { hasText: "owner" }).click();
  await page.locator(".glossary .target dt", { hasText: "Owner" }).waitFor();
});
