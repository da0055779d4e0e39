// SPDX-License-Identifier: Apache-2.0
// Every page, by day, by night and on a phone: axe-core finds nothing, there is a title and one heading of the first
// level, no box ends outside of its card, and no count disagrees with its noun. Pictures of all of them are kept.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { kDesktop, kPhone, takePicture } from "./support/browser.mjs";
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
    "/": [".cause", "causes"],
    "/?q=nothing-like-it": [".state.empty", "causes-none"],
    [`/causes/${cause.key}`]: [flame, "cause"],
    [`/reports/${report.id}`]: [flame, "report"],
    [`/reports/${traced.id}`]: [`.trace ${flame}`, "report-trace"],
    "/live": [".reports tbody tr", "live"],
    "/hang-rate?app=editor": [".heat i", "hang-rate"],
    "/settings": [".config", "settings"],
    "/settings?part=keys": ["tbody tr", "settings-keys"],
    "/settings?part=audit": ["tbody tr", "settings-audit"],
    "/connect": [".connect", "connect"],
    "/glossary": [".glossary dt", "glossary"],
    "/nothing/here": [".state.empty", "no-page"],
    "/causes/0123456789abcdef": [".state.empty", "no-cause"],
    "/reports/01a229b8-113d-74f4-b50d-000000000000": [".state.empty", "no-report"],
  };
});

async function check(page) {
  const findings = await page.evaluate(
    async () => (await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations,
  );
  assert.deepEqual(
    findings.map(
      (each) =>
        `${each.id}: ${each.nodes.map((node) => `${node.html.slice(0, 120)} ${node.failureSummary.slice(0, 200)}`).join(" | ")}`,
    ),
    [],
  );
}

const ink = (page) => page.evaluate(() => getComputedStyle(document.body).color);

// Boxes that end outside of their card, without a part that scrolls around them.
const outside = (page) =>
  page.evaluate(() => {
    const found = [];
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) found.push(`the page is ${wide} px wider than the window`);
    const scrolls = (element, end) => {
      for (let at = element; at !== end; at = at.parentElement)
        if (at !== element && getComputedStyle(at).overflowX !== "visible") return true;
      return false;
    };
    for (const card of document.querySelectorAll(".card, .state, .title, .filters")) {
      const place = card.getBoundingClientRect();
      for (const box of card.querySelectorAll("*")) {
        const { left, right, width, height } = box.getBoundingClientRect();
        if (width === 0 || height === 0 || box.closest(".unseen")) continue;
        if ((right > place.right + 1 || left < place.left - 1) && !scrolls(box, card))
          found.push(
            `${box.tagName}.${box.getAttribute("class")} from ${left} to ${right} in ${card.className}`,
          );
      }
    }
    return found;
  });

// "1 users", "1 hangs of 1 users".
const kBadCount =
  /(?<![\d.,])1 (users|hangs|reports|causes|samples|frames|threads|versions|others|hours|days)\b/;

async function checkWords(page) {
  assert.match(await page.title(), /^\S.* · lagwatch$/);
  assert.equal(await page.locator("h1").count(), 1, "headings of the first level");
  assert.ok((await page.locator("h1").textContent()).trim() !== "");
  assert.doesNotMatch(await page.locator("main").innerText(), kBadCount);
}

const kLooks = {
  "by day": async (page) => page.setViewportSize(kDesktop),
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
  for (const [path, [shown, name]] of Object.entries(pages)) {
    await context.test(path, async (ofPath) => {
      const page = await browser.newPage({ collector });
      await page.addInitScript(axe);
      page.expect("404"); // of the addresses that lead nowhere
      await page.go(path);
      await page.locator(shown).first().waitFor();
      if (path === "/") await page.getByRole("button", { name: "Show by caller" }).first().click();
      for (const [look, change] of Object.entries(kLooks)) {
        await ofPath.test(look, async () => {
          await change(page);
          await page.locator(shown).first().waitFor();
          await check(page);
          await checkWords(page);
          assert.deepEqual(await outside(page), []);
          await takePicture(page, `${name}-${look.replaceAll(" ", "-")}`, { fullPage: true });
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
