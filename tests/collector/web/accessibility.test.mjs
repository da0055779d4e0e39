// SPDX-License-Identifier: Apache-2.0
// axe-core over every page, by day and by night; nothing serious may be found.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { kPhone } from "./support/browser.mjs";
import { useCollector } from "./support/setup.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let collector, browser, pages;
useCollector(["story"], async (ready) => {
  ({ collector, browser } = ready);
  await collector.ask("/v1/admin/config", {
    method: "PUT",
    body: JSON.stringify({ allowlist: ["u-1"], threshold_ms: 700 }),
  });
  await collector.ask("/v1/admin/config", {
    method: "PUT",
    body: JSON.stringify({ allowlist: ["u-1"], threshold_ms: 800 }),
  });
  const [cause] = await collector.ask("/v1/clusters?verdict=lock");
  const [report] = await collector.ask("/v1/reports?verdict=lock&limit=1");
  const [traced] = await collector.ask("/v1/reports?verdict=network&limit=1");
  const flame = ".flame-graph g.frame";
  pages = {
    "/": [".cause"],
    "/?q=nothing-like-it": [".state.empty"],
    [`/causes/${cause.key}`]: [flame],
    [`/reports/${report.id}`]: [flame],
    [`/reports/${traced.id}`]: [`.trace ${flame}`],
    "/live": [".reports tbody tr"],
    "/hang-rate": [".plot canvas"],
    "/settings": [".config"],
    "/settings?part=keys": ["tbody tr"],
    "/settings?part=audit": ["tbody tr"],
    "/connect": [".connect"],
  };
});

async function check(page) {
  const findings = await page.evaluate(
    async () => (await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations,
  );
  const serious = findings.filter((each) => ["serious", "critical"].includes(each.impact));
  assert.deepEqual(
    serious.map(
      (each) =>
        `${each.id}: ${each.nodes.map((node) => `${node.html.slice(0, 120)} ${node.failureSummary.slice(0, 200)}`).join(" | ")}`,
    ),
    [],
  );
}

const ink = (page) => page.evaluate(() => getComputedStyle(document.body).color);

const kLooks = {
  "by day": async () => {},
  "by night": async (page) => {
    const day = await ink(page);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await ink(page), day);
  },
  "on a phone": async (page) => {
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(kPhone);
  },
};

test("every page", async (context) => {
  for (const [path, [shown]] of Object.entries(pages)) {
    await context.test(path, async (ofPath) => {
      const page = await browser.newPage({ collector });
      await page.addInitScript(axe);
      await page.go(path);
      await page.locator(shown).first().waitFor();
      if (path === "/") await page.getByRole("button", { name: "Show by caller" }).first().click();
      for (const [name, look] of Object.entries(kLooks)) {
        await ofPath.test(name, async () => {
          await look(page);
          await page.locator(shown).first().waitFor();
          await check(page);
        });
      }
      await page.finish();
    });
  }
});

test("the sign-in and the dialogs", async () => {
  const stranger = await browser.newPage({ collector, token: "" });
  await stranger.addInitScript(axe);
  await stranger.go("/");
  await check(stranger);
  await stranger.finish();
  const [path] = Object.keys(pages).filter((each) => each.startsWith("/causes/"));
  const page = await browser.newPage({ collector });
  await page.addInitScript(axe);
  await page.go(path);
  for (const button of ["Name, state, link", "Merge"]) {
    await page.getByRole("button", { name: button }).click();
    await page.getByRole("dialog").waitFor();
    await check(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await page.finish();
});
