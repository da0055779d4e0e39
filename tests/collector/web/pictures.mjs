// SPDX-License-Identifier: Apache-2.0
// Pictures of the page for people: `node pictures.mjs URL TOKEN DIRECTORY`, of the demo's collector (scripts/demo) and
// of one with two programs' two weeks. Fails unless the page shows what froze the demo's programs.
import assert from "node:assert/strict";
import { kDesktop, kPhone, openBrowser, takePicture } from "./support/browser.mjs";
import { startCollector } from "./support/collector.mjs";

const [url, token, directory] = process.argv.slice(2);
process.env.LAGWATCH_PICTURES = directory;

const browser = await openBrowser();
async function picture(name, collector, path, isThere, options = {}) {
  const page = await browser.newPage({ collector, ...options });
  await page.go(path);
  await isThere(page);
  await page.waitForTimeout(300);
  await takePicture(page, name);
  await page.finish();
}
const flame = (page) => page.locator(".flame-graph g.frame").first().waitFor();
const causes = (page) => page.locator(".cause").first().waitFor();

async function ofTheDemo() {
  const demo = { url, token };
  await picture(
    "causes",
    demo,
    "/",
    async (page) => {
      await causes(page);
      const shown = (await page.locator(".cause .what").allTextContents()).join("\n");
      for (const name of [
        "Index::Lookup",
        "SaveFile",
        "ParseOutline",
        "sortCompare|pqsort|sortCommandGeneric",
      ])
        assert.match(shown, new RegExp(name), `the page does not show ${name}`);
    },
    { size: { width: 1280, height: 480 } },
  );
  const reports = await (
    await fetch(`${url}/v1/reports`, { headers: { Authorization: `Bearer ${token}` } })
  ).json();
  await picture("report", demo, `/reports/${reports.find((report) => report.tag === "find").id}`, flame, {
    size: { width: 1280, height: 1000 },
  });
}

async function ofTwoWeeks() {
  const collector = await startCollector("story");
  try {
    const found = await collector.ask("/v1/clusters");
    const paste = found.find((cause) => cause.frames[0] === "ParseOutline").key;
    await picture("cause", collector, `/causes/${paste}`, flame, { size: { width: 1280, height: 1120 } });
    await picture(
      "hang-rate",
      collector,
      "/hang-rate?app=editor",
      (page) => page.locator(".plot canvas").waitFor(),
      { size: { width: 1280, height: 760 } },
    );
    await picture(
      "heat-map",
      collector,
      "/hang-rate?app=editor",
      async (page) => {
        await page.locator(".heat i").first().waitFor();
        await page.getByRole("heading", { name: "time of day" }).evaluate((heading) => {
          scrollTo(0, heading.getBoundingClientRect().top - 80);
        });
      },
      { size: { width: 1280, height: 480 } },
    );
    await picture("causes-dark", collector, "/", causes, { dark: true, size: { width: 1280, height: 620 } });
    await picture("causes-phone", collector, "/", causes, { size: kPhone });
    await picture(
      "settings",
      collector,
      "/settings",
      async (page) => {
        await page.getByLabel("Users who report on a day").fill("100000");
        await page.getByPlaceholder("user").fill("u-7");
        await page.getByRole("button", { name: "Add user" }).click();
        await page.getByRole("button", { name: "Review the changes" }).click();
      },
      { size: kDesktop },
    );
  } finally {
    await collector.stop();
  }
}

try {
  await ofTheDemo();
  await ofTwoWeeks();
} finally {
  await browser.close();
}
