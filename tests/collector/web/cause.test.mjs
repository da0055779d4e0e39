// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { kPhone, takePicture } from "./support/browser.mjs";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page, causes;
useCollector(["story"], async (ready) => {
  ({ collector, browser } = ready);
  causes = await collector.ask("/v1/clusters");
});
usePage(
  () => browser.newPage({ collector }),
  (opened) => (page = opened),
);

const keyOf = (...frames) =>
  causes.find((cause) => frames.every((frame, i) => cause.frames[i] === frame)).key;
const card = (title) => page.locator("section.card", { has: page.getByRole("heading", { name: title }) });
const frames = () => page.locator(".flame-graph g.frame");
const graph = () => page.getByRole("application");
const said = () => page.locator(".flame-text").textContent();

test("shows where the time went, why, and in which versions", async () => {
  await page.go(`/causes/${keyOf("ParseOutline", "Editor::OnPaste")}`);
  await frames().first().waitFor();
  const titles = (await page.locator(".flame-graph g.frame title").allTextContents()).join("\n");
  for (const name of ["main", "Editor::OnPaste", "ParseOutline", "Heading::Level"])
    assert.match(titles, new RegExp(name));
  assert.match(await card("Why").textContent(), /cpu/);
  const versions = await card("Version by version").textContent();
  assert.match(versions, /2\.4\.0\s*none/, "the fix worked");
  assert.match(versions, /2\.3\.0/);
  assert.doesNotMatch(versions, /more in|less in|about the same/i, "whether versions differ is not said");
  const { by_version: asked } = await collector.ask(
    `/v1/clusters/${keyOf("ParseOutline", "Editor::OnPaste")}?by=version`,
  );
  assert.ok(asked[0].hang_ms_per_hour_interval.low < asked[0].hang_ms_per_hour);
  assert.ok(asked[0].hang_ms_per_hour_interval.high > asked[0].hang_ms_per_hour);
  assert.match(versions, /\d m?s to \d/, "an interval");
  assert.match(await card("Dispatches").textContent(), /paste/);
  await page
    .getByRole("img", { name: /Hang time by day/ })
    .locator("canvas")
    .waitFor();
  assert.ok((await page.locator(".reports tbody tr").count()) > 20);
});

test("begins with the flame graph, and names the code that it is of", async () => {
  await page.go(`/causes/${keyOf("ParseOutline", "Editor::OnPaste")}`);
  await frames().first().waitFor();
  assert.match(await page.locator("main section.card h2").first().textContent(), /Flame graph/);
  assert.match(await page.locator(".packages").textContent(), /100 % in liboutline.so/);
  assert.match(await page.locator("h1").textContent(), /ParseOutline froze editor/);
});

test("is broken down, and a part of it has its own page", async () => {
  const key = keyOf("SaveFile", "Editor::OnSave");
  await page.go(`/causes/${key}`);
  const breakdown = card("Breakdown");
  await breakdown.getByText("Debian GNU/Linux 12").waitFor();
  const asked = (await collector.ask(`/v1/clusters/${key}/breakdown`)).distribution.values;
  assert.deepEqual(
    await breakdown.locator(".part-name").allTextContents(),
    asked.map((each) => each.value),
  );
  await breakdown.getByRole("button", { name: "Dispatch" }).click();
  assert.match(await breakdown.textContent(), /autosave/);
  await breakdown.getByRole("link", { name: "autosave" }).click();
  await page.getByText("Only reports with tag autosave").waitFor();
  await page.waitForFunction(
    () =>
      document.querySelectorAll(".reports tbody tr").length > 0 && !/ save /.test(document.body.innerText),
  );
  assert.ok(
    (await page.locator(".reports tbody tr").allTextContents()).every((row) => row.includes("autosave")),
  );
  await page.getByRole("link", { name: "All of this cause" }).click();
  await page.waitForFunction(() => location.search === "");
});

test("names the lock's owner", async () => {
  await page.go(`/causes/${keyOf("Index::Lookup", "Editor::OnFind")}`);
  const owners = card("Owners of the lock");
  await owners.waitFor();
  assert.match(await owners.textContent(), /Index::Rebuild/);
  assert.match(await owners.textContent(), /indexer/);
});

test("draws samples left-heavy, in time order, and zooms", async () => {
  await page.go(`/causes/${keyOf("ParseOutline", "Editor::OnPaste")}`);
  await frames().first().waitFor();
  const leftHeavy = await frames().count();
  await page.getByRole("button", { name: "Time order" }).click();
  await page.waitForFunction(
    (before) => document.querySelectorAll(".flame-graph g.frame").length > before,
    leftHeavy,
  );
  await page.getByRole("button", { name: "Left heavy" }).click();
  await page.waitForFunction(
    (before) => document.querySelectorAll(".flame-graph g.frame").length === before,
    leftHeavy,
  );
  const width = (name) =>
    page
      .locator(".flame-graph g.frame", { has: page.locator("title", { hasText: name }) })
      .first()
      .getAttribute("width")
      .then(Number);
  const before = await width("Heading::Level");
  await page
    .locator(".flame-graph g.frame", { has: page.locator("title", { hasText: /^Heading::Level/ }) })
    .first()
    .click();
  await page.waitForFunction(
    (least) =>
      [...document.querySelectorAll(".flame-graph g.frame")].some(
        (frame) =>
          frame.querySelector("title")?.textContent.startsWith("Heading::Level") &&
          Number(frame.getAttribute("width")) > least,
      ),
    before * 1.5,
  );
  assert.match(await said(), /Heading::Level/);
  const fills = () =>
    page
      .locator(".flame-graph g.frame rect")
      .evaluateAll((all) => all.map((each) => each.getAttribute("fill")).join());
  const plain = await fills();
  await page.getByPlaceholder("Find a function").fill("parseoutline");
  await page.waitForFunction(
    (before) =>
      [...document.querySelectorAll(".flame-graph g.frame rect")]
        .map((each) => each.getAttribute("fill"))
        .join() !== before,
    plain,
  );
});

test("goes from causes to a frame with the keyboard alone", async () => {
  await page.go("/");
  await page.locator(".cause").first().waitFor();
  // From the address bar: through the page's head into the list.
  for (
    let i = 0;
    i < 25 && !(await page.evaluate(() => document.activeElement?.classList.contains("cause")));
    ++i
  )
    await page.keyboard.press("Tab");
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  for (let i = 0; i < 10 && !/SaveFile/.test(await focused()); ++i) {
    const before = await focused();
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((text) => document.activeElement?.textContent !== text, before);
  }
  await page.keyboard.press("ArrowRight");
  await page.locator(".cause.level2").first().waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelectorAll(".cause.level2").length === 0);
  await page.keyboard.press("Enter");
  await frames().first().waitFor();
  for (let i = 0; i < 40 && !(await graph().evaluate((element) => element === document.activeElement)); ++i)
    await page.keyboard.press("Tab");
  for (let i = 0; i < 5; ++i) await page.keyboard.press("ArrowDown");
  assert.match(await said(), /Editor::/);
  await page.keyboard.press("ArrowDown");
  const deep = await said();
  await page.keyboard.press("ArrowUp");
  assert.notEqual(await said(), deep);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  assert.match(await said(), /^all/);
});

test("is named, linked and called fixed", async () => {
  const key = keyOf("ParseOutline", "Editor::OnPaste");
  await page.go(`/causes/${key}`);
  await page.getByRole("button", { name: "Name, state, link" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ""), /Name, state, link/);
  await page.keyboard.press("Enter");
  await dialog.getByLabel("Title").fill("Pasting is quadratic");
  await dialog.getByLabel("Link").fill("https://tracker.example/1");
  await dialog.getByLabel("State").selectOption("fixed");
  await dialog.getByLabel("Fixed in version").fill("2.4.0");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Pasting is quadratic" }).waitFor();
  assert.match(await page.locator(".mark").first().textContent(), /fixed in 2\.4\.0/);
  assert.equal(
    await page.getByRole("link", { name: "https://tracker.example/1" }).getAttribute("href"),
    "https://tracker.example/1",
  );
  assert.equal((await collector.ask(`/v1/clusters/${key}`)).title, "Pasting is quadratic");
  // Fixed causes are not listed; a search for one says so.
  await page.goto(`${collector.url}/?q=quadratic`);
  await page.getByText("No hangs match").waitFor();
  await page.getByLabel("State").selectOption("fixed");
  await page.locator(".cause", { hasText: "Pasting is quadratic" }).waitFor();
  // A text that is not a web address does not become a link.
  await page.route(`**/v1/clusters/${key}?*`, async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, link: "javascript:alert(1)" } });
  });
  await page.goto(`${collector.url}/causes/${key}`);
  await page.getByText("javascript:alert(1)").waitFor();
  assert.equal(await page.locator("a[href^='javascript']").count(), 0);
});

test("is merged into another, and taken out again", async () => {
  const [from, into] = [
    keyOf("Index::Lookup", "Editor::OnReplace"),
    keyOf("Index::Lookup", "Editor::OnFind"),
  ];
  const apart = await collector.ask(`/v1/clusters/${into}`);
  await page.go(`/causes/${from}`);
  await page.getByRole("button", { name: "Merge" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Find the other cause").fill("Editor::OnFind");
  await dialog
    .getByRole("radio")
    .and(page.locator(`[value="${into}"]`))
    .check();
  await dialog.getByRole("button", { name: "Merge" }).click();
  await page.waitForURL(`**/causes/${into}`);
  await page.getByRole("button", { name: "Take out" }).waitFor();
  const merged = await collector.ask(`/v1/clusters/${into}`);
  assert.deepEqual(merged.merged, [from]);
  assert.ok(merged.reports > apart.reports);
  await page.getByRole("button", { name: "Take out" }).click();
  await page.getByRole("button", { name: "Take out" }).waitFor({ state: "detached" });
  assert.equal((await collector.ask(`/v1/clusters/${into}`)).reports, apart.reports);
});

test("is split by its callers, and made one again", async () => {
  const key = keyOf("SaveFile", "Editor::OnSave");
  await page.go(`/causes/${key}`);
  await page.getByRole("button", { name: "Split" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Split" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.goto(`${collector.url}/?q=SaveFile`);
  await page.waitForFunction(() => document.querySelectorAll(".cause").length === 2);
  await collector.ask(`/v1/admin/clusters/${key}`, {
    method: "PATCH",
    body: JSON.stringify({ is_split: false }),
  });
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll(".cause").length === 1);
});

test("offers readers nothing that they may not do", async () => {
  const { key: readToken } = await collector.ask("/v1/admin/keys", {
    method: "POST",
    body: JSON.stringify({ name: "reader", access: "read" }),
  });
  const reader = await browser.newPage({ collector, token: readToken });
  await reader.go(`/causes/${causes[0].key}`);
  await reader.locator(".flame-graph g.frame").first().waitFor();
  assert.equal(await reader.getByRole("button", { name: "Merge" }).count(), 0);
  assert.equal(await reader.getByRole("link", { name: "Settings" }).count(), 0);
  await reader.finish();
});

test("shows the hang time that does not count, where the collector knows it", async () => {
  const { key } = causes[0];
  let capped = { reports: 3, hang_ms: 7_200_000 };
  await page.route(`**/v1/clusters/${key}?*`, async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, capped } });
  });
  await page.go(`/causes/${key}`);
  await page.getByText("3 reports count for less than they say").waitFor();
  assert.match(
    await page.locator("p", { hasText: "capped" }).textContent(),
    /: 2 h of hang time is left out\./,
  );
  for (capped of [null, undefined, { reports: 0, hang_ms: 0 }]) {
    await page.reload();
    await page.locator(".figures").waitFor();
    assert.equal(await page.getByText("for less than").count(), 0);
  }
});

test("says that a cause is not there", async () => {
  page.expect("404");
  await page.go("/causes/0123456789abcdef");
  await page.getByRole("heading", { name: "No such cause" }).waitFor();
  await page.locator("main").getByRole("link", { name: "All causes" }).click();
  await page.locator(".cause").first().waitFor();
});

test("looks right by night and on a phone", async () => {
  for (const [name, options] of [
    ["cause-light", {}],
    ["cause-dark", { dark: true }],
    ["cause-phone", { size: kPhone }],
  ]) {
    const shown = await browser.newPage({ collector, ...options });
    await shown.go(`/causes/${keyOf("Index::Lookup", "Editor::OnFind")}`);
    await shown.locator(".flame-graph g.frame").first().waitFor();
    const width = await shown.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `${name}: ${width} px wider than the window`);
    await takePicture(shown, name, { fullPage: true });
    await shown.finish();
  }
});
