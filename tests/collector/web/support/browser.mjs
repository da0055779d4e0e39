// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium without windows, and what no page of it may do.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";

export const kDesktop = { width: 1280, height: 860 };
export const kPhone = { width: 390, height: 844 };

export async function openBrowser() {
  // The sandbox needs what containers do not give; all pages here are our own.
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  return { newPage: (options) => newPage(browser, options), close: () => browser.close() };
}

// A page that fails the test when it logs an error, throws, breaks its policy, or sends requests to another server.
async function newPage(
  browser,
  { collector, size = kDesktop, dark = false, token = collector.token, reducedMotion = "reduce" } = {},
) {
  const context = await browser.newContext({
    viewport: size,
    colorScheme: dark ? "dark" : "light",
    reducedMotion,
    acceptDownloads: true,
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems = [];
  const expected = [];
  page.on("pageerror", (error) => problems.push(`threw ${error}`));
  page.on("console", (message) => message.type() === "error" && problems.push(`logged ${message.text()}`));
  page.on("dialog", (dialog) => {
    problems.push(`opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(collector.url) && !request.url().startsWith("blob:"))
      problems.push(`asked ${request.url()}`);
  });
  const go = async (path) => {
    await page.goto(`${collector.url}${path}${token ? `#token=${token}` : ""}`);
    await page.locator("main").waitFor();
  };
  // Errors that a test causes on purpose.
  const expect = (...texts) => expected.push(...texts);
  const finish = async () => {
    await context.close();
    assert.deepEqual(
      problems.filter((problem) => !expected.some((each) => problem.includes(each))),
      [],
    );
  };
  return Object.assign(page, { go, expect, finish });
}

// Kept where CI looks for them.
export async function takePicture(page, name, { fullPage = false } = {}) {
  const directory = process.env.LAGWATCH_PICTURES;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage, animations: "disabled" });
}
