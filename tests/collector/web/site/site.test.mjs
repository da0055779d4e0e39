// SPDX-License-Identifier: Apache-2.0
// The documentation's site, opened from the disk: `SITE=build/site node --test site.test.mjs`, as `scripts/docs --test` does.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { kDesktop, kPhone } from "../support/browser.mjs";

const site = process.env.SITE;
if (!site) throw new Error("SITE must name the folder of the built site");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
const address = (path) => pathToFileURL(join(site, path)).href;

let browser;
before(async () => (browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })));
after(() => browser.close());

// Fails the test if the page asks for anything that is not of the site. Scripts that `slow` matches come 2 s late.
async function withPage(path, { slow, ...options }, look) {
  const context = await browser.newContext({ viewport: kDesktop, colorScheme: "light", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(`threw ${error}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(pathToFileURL(site).href) && !/^(data|blob|about):/.test(request.url()))
      problems.push(`asked ${request.url()}`);
  });
  if (slow)
    await page.route(slow, async (route) => {
      await page.waitForTimeout(2_000);
      await route.continue();
    });
  await page.goto(address(path));
  await look(page);
  await context.close();
  assert.deepEqual(problems, []);
}

const kFound = ".md-search-result__item h1";

// Types into the search until as many pages are found as `isEnough` takes: it looks for keys, and not before it is ready.
async function type(page, words, isEnough) {
  for (let i = 0; i < 30; ++i) {
    await page.locator(".md-search__input").fill(words);
    await page.keyboard.press("End");
    for (let k = 0; k < 10; ++k) {
      if (isEnough(await page.locator(kFound).count())) return;
      await page.waitForTimeout(100);
    }
  }
  throw new Error(`the search for "${words}" gave ${await page.locator(kFound).count()} pages`);
}

// The titles of the found pages, the best first.
async function find(page, words) {
  await type(page, "", (count) => count === 0);
  await type(page, words, (count) => count > 0);
  await page.waitForTimeout(300); // the rest of the first ones
  return (await page.locator(kFound).allTextContents()).map((each) => each.trim());
}

test("the search works from the disk, on pages of all folders", async () => {
  for (const path of ["index.html", "docs/page.html", "docs/design/page.html"])
    await withPage(path, {}, async (page) => {
      assert.equal((await find(page, "glossary"))[0], "Glossary");
      assert.ok((await find(page, "starved")).includes("Detection"), path);
      await find(page, "heat map of all dispatches");
      await page.locator(".md-search-result__link[href*='docs/page.html']").first().click();
      await page.waitForURL(/^file:.*docs\/page\.html/);
    });
});

test("what is typed while the search still loads is found", async () => {
  await withPage("docs/page.html", { slow: /search\.\w+\.min\.js$/ }, async (page) =>
    assert.equal((await find(page, "glossary"))[0], "Glossary"),
  );
});

test("how-tos are found by their names, in the search and in the navigation", async () => {
  await withPage("index.html", {}, async (page) => {
    await page.locator(".md-tabs__link", { hasText: "How to" }).click();
    for (const name of ["Qt", "GTK", "Node.js", "Python", "Java", "nginx"]) {
      await page
        .locator(".md-nav__link", { hasText: new RegExp(`^\\s*${name}\\s*$`) })
        .first()
        .waitFor();
      const found = await find(page, name);
      assert.ok(found.slice(0, 3).includes(name), `${name}: ${found}`);
    }
  });
});

test("colours follow the system, and can be chosen", async () => {
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  let light;
  await withPage("index.html", {}, async (page) => {
    light = await ground(page);
    await page.locator("label[title='Use dark colours']").click();
    assert.notEqual(await ground(page), light);
    await page.goto(address("docs/page.html"));
    assert.notEqual(await ground(page), light, "the choice stays");
    await page.locator("label[title='Use light colours']").click();
    assert.equal(await ground(page), light);
  });
  await withPage("index.html", { colorScheme: "dark" }, async (page) =>
    assert.notEqual(await ground(page), light),
  );
});

const pages = readdirSync(site, { recursive: true }).filter(
  (each) => each.endsWith(".html") && each !== "404.html",
);

for (const viewport of [kDesktop, kPhone])
  test(`no block of code is cut, ${viewport.width} px wide`, { timeout: 900_000 }, async () => {
    assert.ok(pages.length > 50, `${pages.length} pages`);
    const cut = [];
    await withPage(pages[0], { viewport }, async (page) => {
      for (const path of pages) {
        await page.goto(address(path));
        const found = await page.locator("pre > code").evaluateAll((blocks) =>
          blocks
            // Drawings scroll where there is too little room; nothing else does.
            .filter((block) => !block.parentElement.classList.contains("drawing"))
            .filter((block) => block.scrollWidth > block.clientWidth + 1)
            .map(
              (block) => `${block.scrollWidth} px in ${block.clientWidth}: ${block.textContent.slice(0, 80)}`,
            ),
        );
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) found.push(`the page is ${wide} px wider than the window`);
        if (found.length > 0) cut.push(`${path}: ${found.join("; ")}`);
      }
    });
    assert.deepEqual(cut, []);
  });
