// SPDX-License-Identifier: Apache-2.0
// The page below a path, which a proxy adds. A page of the tests fails when it asks for anything outside of its path.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startNginx } from "./support/nginx.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let browser, page, proxied;
useCollector(["story"], async (ready) => {
  browser = ready.browser;
  proxied = await startNginx(ready.collector);
});
after(() => proxied?.stop());
usePage(
  () => browser.newPage({ collector: proxied }),
  (opened) => (page = opened),
);

const pathOf = () => new URL(page.url()).pathname;

test("opens at each of its addresses, and goes from one to the other", async () => {
  await page.go("/");
  await page.locator("[role=row].cause").first().click();
  await page.locator(".flame-graph g.frame").first().waitFor();
  assert.match(pathOf(), /^\/lagwatch\/causes\/[0-9a-f]+$/);
  await page.reload();
  await page.locator(".flame-graph g.frame").first().waitFor();
  await page.getByRole("link", { name: "Hang rate" }).click();
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  assert.equal(pathOf(), "/lagwatch/hang-rate");
  assert.equal(await page.getByRole("link", { name: "Hang rate" }).getAttribute("aria-current"), "page");
  await page.getByRole("link", { name: "lagwatch, all causes" }).click();
  await page.locator("[role=row].cause").first().waitFor();
  assert.equal(pathOf(), "/lagwatch/");
});

test("hears of new reports through nginx", async () => {
  await page.go("/live");
  await page.locator(".pulse.on").first().waitFor();
});
