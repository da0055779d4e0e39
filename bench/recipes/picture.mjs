// SPDX-License-Identifier: Apache-2.0
// A picture of a report's page: `node picture.mjs URL TOKEN REPORT DIRECTORY NAME`.
const [url, token, report, directory, name] = process.argv.slice(2);
process.env.LAGWATCH_PICTURES = directory;
const { openBrowser, takePicture } = await import("../../tests/collector/web/support/browser.mjs");

const browser = await openBrowser();
const page = await browser.newPage({ collector: { url, token }, size: { width: 1280, height: 1000 } });
await page.go(`/reports/${report}`);
await page.locator(".flame-graph g.frame").first().waitFor();
await page.waitForTimeout(300);
await takePicture(page, name);
await page.finish();
await browser.close();
