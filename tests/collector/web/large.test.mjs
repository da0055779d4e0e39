// SPDX-License-Identifier: Apache-2.0
// A report of the largest size that the collector takes: 400 samples of 250 frames, 500 threads.
import assert from "node:assert/strict";
import { test } from "node:test";
import { useCollector } from "./support/setup.mjs";

const kPictureMs = 1_000; // from the answer on: the collector of a test is not optimized
const kElements = 15_000;
const kHeapBytes = 100e6;
const kTries = 5; // the best of them: what else runs on the machine is not the page's

let collector, browser, id;
useCollector(["large"], async (ready) => {
  ({ collector, browser } = ready);
  id = (await collector.ask("/v1/reports"))[0].id;
});

function watchForThePicture() {
  const look = () => {
    if (document.querySelectorAll(".flame-graph g.frame").length > 5)
      globalThis.pictureMs = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

async function open() {
  const page = await browser.newPage({ collector });
  await page.addInitScript(watchForThePicture);
  await page.go(`/reports/${id}`);
  await page.waitForFunction(() => globalThis.pictureMs > 0, null, { timeout: 60_000 });
  return page;
}

test("its first picture is there within a second", async (context) => {
  const times = [];
  while (times.length < kTries && !times.some(({ afterMs }) => afterMs <= kPictureMs)) {
    const page = await open();
    times.push(
      await page.evaluate(() => {
        const answer = performance
          .getEntriesByType("resource")
          .find((each) => /\/v1\/reports\//.test(each.name));
        return {
          afterMs: globalThis.pictureMs - answer.responseEnd,
          wholeMs: globalThis.pictureMs,
          elements: document.querySelectorAll("*").length,
          heap: performance.memory.usedJSHeapSize,
        };
      }),
    );
    await page.finish();
  }
  context.diagnostic(JSON.stringify(times.map((each) => ({ ...each, afterMs: Math.round(each.afterMs) }))));
  assert.ok(Math.min(...times.map((each) => each.afterMs)) <= kPictureMs);
  assert.ok(times[0].elements <= kElements, `${times[0].elements} elements`);
  assert.ok(times[0].heap <= kHeapBytes, `${times[0].heap} bytes`);
});

test("all of it can be reached", async () => {
  const page = await open();
  const threads = page.locator("details.thread");
  const first = await threads.count();
  assert.ok(first < 100);
  await page.getByRole("button", { name: /more threads/ }).click();
  await page.waitForFunction(() => document.querySelectorAll("details.thread").length === 501);
  await threads.last().locator("summary").click();
  await threads.last().locator(".stack li").first().waitFor();
  await page
    .getByRole("button", { name: /more frames/ })
    .first()
    .click();
  await page.waitForFunction(() => document.querySelectorAll("details.thread[open] .stack li").length >= 250);
  // A folded part of the flame graph is shown alone, and the way back is there.
  await page
    .locator(".flame-graph g.frame", { has: page.locator("title", { hasText: "more functions" }) })
    .first()
    .click();
  await page.getByRole("button", { name: "All functions" }).click();
  await page.getByRole("button", { name: "All functions" }).waitFor({ state: "detached" });
  await page.finish();
});
