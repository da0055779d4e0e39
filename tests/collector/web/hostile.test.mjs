// SPDX-License-Identifier: Apache-2.0
// Texts come from programs that may be hostile: none of them is ever more than text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { useCollector } from "./support/setup.mjs";

const kText = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

let collector, browser;
useCollector(["hostile"], async (ready) => {
  ({ collector, browser } = ready);
  const [cause] = await collector.ask("/v1/clusters");
  await collector.ask(`/v1/admin/clusters/${cause.key}`, {
    method: "PATCH",
    body: JSON.stringify({ title: kText, link: `https://elsewhere.example/${kText}` }),
  });
  await collector.ask("/v1/admin/config", { method: "PUT", body: JSON.stringify({ allowlist: [kText] }) });
  await collector.ask("/v1/admin/allowlist", { method: "POST", body: JSON.stringify({ user: `${kText}2` }) });
});

async function show(path, isThere) {
  const page = await browser.newPage({ collector });
  await page.go(path);
  await isThere(page);
  await page.waitForTimeout(200);
  assert.doesNotMatch(await page.title(), /^owned/);
  assert.equal(
    await page.locator("img, script:not([src]), svg[onload], [onerror]").count(),
    0,
    "no text became an element",
  );
  assert.match(await page.locator("body").innerText(), /<img src=x onerror/, "it is shown as it is");
  await page.finish();
}

test("in the list, with its callers", () =>
  show("/", async (page) => {
    await page.getByRole("button", { name: "Show by caller" }).click();
    await page.locator(".cause.level2").waitFor();
  }));

test("in a cause", async () => {
  const [cause] = await collector.ask("/v1/clusters");
  await show(`/causes/${cause.key}`, async (page) => {
    await page.locator(".flame-graph g.frame").first().waitFor();
    await page.getByRole("application").focus();
    for (let i = 0; i < 4; ++i) await page.keyboard.press("ArrowDown");
    await page.getByRole("button", { name: "Merge" }).click();
  });
});

test("in a report", async () => {
  const [report] = await collector.ask("/v1/reports");
  await show(`/reports/${report.id}`, async (page) => {
    await page.locator(".flame-graph g.frame").first().waitFor();
    for (const details of await page.locator("details").all())
      await details.evaluate((element) => (element.open = true));
    const own = page.locator(".waits").getByRole("link", { name: /itself froze for/ });
    assert.equal(await own.getAttribute("href"), `/reports/${report.id}`);
    assert.match(await own.textContent(), /^<img src=x onerror.* itself froze for 90 s$/s);
  });
});

test("among the newest", () => show("/live", (page) => page.locator(".reports tbody tr").first().waitFor()));
test("in the hang rate", () =>
  show("/hang-rate", (page) => page.getByRole("img", { name: /Hang rate/ }).waitFor()));
test("in the settings", () => show("/settings", (page) => page.locator(".chips li").first().waitFor()));
test("in the audit log", () =>
  show("/settings?part=audit", (page) => page.getByText("allowlist.add").waitFor()));

test("the policy holds: what is added by a script is not run, and nothing is loaded from elsewhere", async () => {
  const page = await browser.newPage({ collector });
  page.expect(
    "Content Security Policy",
    "TrustedHTML",
    "asked https://elsewhere.example/",
    "Trusted",
    "Failed to load resource",
  );
  await page.go("/");
  const outcome = await page.evaluate(async () => {
    const refused = [];
    try {
      document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=\"document.title='owned'\">");
    } catch {
      refused.push("html");
    }
    await fetch("https://elsewhere.example/").catch(() => refused.push("fetch"));
    return refused;
  });
  assert.deepEqual(outcome, ["html", "fetch"]);
  await page.finish();
});
