// SPDX-License-Identifier: Apache-2.0
// Traces that our exporters wrote, and a browser for the programs that open them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = fileURLToPath(new URL(".", import.meta.url));
const kTypes = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript" };

export const packageFile = (path) => join(here, "node_modules", path);

export function writeTraces() {
  const bin = process.env.LAGWATCH_BIN;
  if (!bin) throw new Error("LAGWATCH_BIN must name the folder of the built programs");
  const directory = mkdtempSync(join(tmpdir(), "lagwatch-traces-"));
  execFileSync(join(bin, "write_traces"), [directory]);
  return {
    directory,
    read: (name) => readFileSync(join(directory, name), "utf8"),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

// `roots`: which folder is behind which first part of a path; `pages`: texts by path.
export async function serve(roots, pages = {}) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const root = Object.keys(roots).find((each) => path.startsWith(each));
    try {
      const content = pages[path] ?? readFileSync(join(roots[root], path.slice(root.length)));
      response.writeHead(200, { "Content-Type": kTypes[extname(path)] ?? "application/octet-stream" });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

export async function openBrowser() {
  // The sandbox needs what containers do not give; all pages here are our own. Speedscope draws with WebGL.
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--use-gl=angle",
      "--use-angle=swiftshader",
      "--enable-unsafe-swiftshader",
    ],
  });
  return { newPage: (url) => newPage(browser, url), close: () => browser.close() };
}

// A page that must not complain about anything: importers do so by console.error() or alert().
async function newPage(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  page.setDefaultTimeout(30_000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(`threw ${error}`));
  page.on("console", (message) => message.type() === "error" && problems.push(`logged ${message.text()}`));
  page.on("dialog", (dialog) => {
    problems.push(`said ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  const finish = async () => {
    await page.close();
    assert.deepEqual(problems, []);
  };
  return Object.assign(page, { finish });
}

// Kept where CI looks for them.
export async function takePicture(page, name) {
  const directory = process.env.LAGWATCH_PICTURES;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), animations: "disabled" });
}

// `server` serves speedscope, and the file behind /traces/.
export async function openInSpeedscope(browser, server, file) {
  const profile = encodeURIComponent(`${server.url}/traces/${file}`);
  const page = await browser.newPage(`${server.url}/index.html#profileURL=${profile}`);
  await page.getByText("Time Order").waitFor();
  return page;
}

// [{ name, total, self }] of speedscope's table of functions, for the profile that is shown: as many rows as
// can be seen, the most self time first, or the most of what the column `by` has.
export async function functionsShown(page, by) {
  await page.getByText("Sandwich").click();
  await page.locator("td", { hasText: "%)" }).first().waitFor();
  if (by) await page.getByRole("cell", { name: by, exact: true }).click();
  const rows = await page
    .locator("tr")
    .evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
  // The hidden list of profiles has rows of its own, without shares.
  return rows
    .filter((cells) => cells.length === 3 && cells[0].endsWith("%)"))
    .map(([total, self, name]) => ({ total: total.split(" ")[0], self: self.split(" ")[0], name }));
}
