// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { useCollector, usePage } from "./support/setup.mjs";

let collector, browser, page;
useCollector(["story"], async (ready) => ({ collector, browser } = ready));
usePage(
  () => browser.newPage({ collector }),
  async (opened) => {
    page = opened;
    await page.go("/hang-rate?app=editor");
    await page.locator(".heat i").first().waitFor();
  },
);

const card = () => page.locator("section.card", { has: page.getByRole("heading", { name: "time of day" }) });

test("dispatches are shown by duration and the reader's time of day", async () => {
  await card().getByText("As a table").click();
  const columns = await card().locator("thead th").allTextContents();
  assert.deepEqual(columns.slice(0, 3), ["Time of day", "below 1 ms", "1 ms"]);
  const column = columns.indexOf("1 s");
  assert.ok(column > 0, `${columns}`);
  // Those of a second come in a part of the day.
  const since = Date.now() - 40 * 86_400_000;
  const hours = await collector.ask(`/v1/usage?by=hour&app=editor&from_ms=${since}&limit=10000`);
  const hourInBerlin = (ms) =>
    Number(
      new Intl.DateTimeFormat("en-GB", {
        hour: "2-digit",
        hourCycle: "h23",
        timeZone: "Europe/Berlin",
      }).format(ms),
    );
  const slow = new Set(
    hours
      .filter((each) => each.durations.some(({ from_ms }) => from_ms === 1024))
      .map((each) => hourInBerlin(each.hour_ms)),
  );
  assert.ok(slow.size > 0 && slow.size < 24, `${[...slow]}`);
  const rows = await card().locator("tbody tr").all();
  assert.equal(rows.length, 24);
  const cells = card().locator(".heat-name", { hasText: /^1 s$/ }).locator("xpath=following-sibling::i");
  for (const [hour, row] of rows.entries()) {
    const text = await row.locator("th, td").nth(column).textContent();
    assert.equal(!["0", "–"].includes(text), slow.has(hour), `${hour}: ${text}`);
    const heat = await cells.nth(hour).evaluate((cell) => cell.style.getPropertyValue("--heat"));
    assert.equal(heat !== "0.0%", slow.has(hour), `${hour}: ${heat}`);
  }
});

test("the heat map is of the loop and the time that were chosen", async () => {
  const asked = (what) => page.waitForRequest((request) => request.url().includes(what));
  // The story's programs have one loop.
  assert.equal(await card().getByLabel("Loop").count(), 0);
  await page.route("**/v1/usage?limit=1000", async (route) => {
    const answer = await (await route.fetch()).json();
    for (const each of answer) each.loops.push({ ...each.loops[0], loop: "io" });
    await route.fulfill({ json: answer });
  });
  await page.reload();
  const [request] = await Promise.all([
    asked("by=hour&app=editor&loop=io"),
    card().getByLabel("Loop").selectOption("io"),
  ]);
  assert.match(request.url(), /from_ms=\d+/);
  await card().getByText("No timed dispatch").waitFor();
  const since = async (days) =>
    Number(
      /from_ms=(\d+)/.exec(
        (
          await Promise.all([asked("by=hour"), page.locator("select[name=days]").selectOption(days)])
        )[0].url(),
      )[1],
    );
  assert.equal((await since("7")) - (await since("90")), 83 * 86_400_000);
});

test("hang rates are shown by the values of the program's keys", async () => {
  const since = Date.now() - 29 * 86_400_000;
  const values = await collector.ask(`/v1/usage?by=value&app=editor&from_ms=${since}`);
  assert.equal(values.length, 2);
  const table = page.getByRole("region", { name: "Hang rate by index" });
  for (const [row, { value, hangs, users }] of values.entries()) {
    const cells = await table.locator("tbody tr").nth(row).locator("th, td").allTextContents();
    assert.deepEqual([cells[0], cells[4].replace(/\D/g, ""), cells[7]], [value, `${hangs}`, `${users}`]);
  }
});

test("a table of values says when it has not all of a key", async () => {
  const table = page.getByRole("region", { name: "Hang rate by index" });
  const cut = page.getByText("These are the 100 values with the most watched time.");
  await table.locator("tbody tr").first().waitFor();
  assert.equal(await cut.count(), 0);
  await page.route("**/v1/usage?by=value*", async (route) => {
    const [first] = await (await route.fetch()).json();
    const limit = Number(new URL(route.request().url()).searchParams.get("limit"));
    await route.fulfill({ json: Array.from({ length: limit }, (_, i) => ({ ...first, value: `${i}` })) });
  });
  await page.reload();
  await cut.waitFor();
  assert.equal(await table.locator("tbody tr").count(), 100);
});
