// SPDX-License-Identifier: Apache-2.0
// The set-up and tear-down of most tests.
import { after, afterEach, before, beforeEach } from "node:test";
import { openBrowser } from "./browser.mjs";
import { startCollectorWith } from "./collector.mjs";

// A collector and a browser for all tests of a file; `take` gets both. `flags`: more of the collector's.
export function useCollector(seeds, take, flags = []) {
  let collector, browser;
  before(
    async () => {
      collector = await startCollectorWith(flags, ...seeds);
      browser = await openBrowser();
      await take({ collector, browser });
    },
    { timeout: 240_000 },
  );
  after(async () => {
    await browser?.close();
    await collector?.stop();
  });
}

// A page for each test, which fails the test when something was wrong with it.
export function usePage(open, take) {
  let page;
  beforeEach(async () => {
    page = await open();
    await take(page);
  });
  afterEach(() => page.finish());
}
