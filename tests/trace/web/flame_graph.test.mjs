// SPDX-License-Identifier: Apache-2.0
// Collapsed stacks, drawn by d3-flame-graph.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, packageFile, serve, takePicture, writeTraces } from "./support.mjs";

// In the order in which they need each other.
const kScripts = [
  ...["selection", "format", "array", "hierarchy", "color", "interpolate", "time", "time-format", "scale"],
  ...["ease", "timer", "dispatch", "transition"],
].map((name) => `/d3-${name}/dist/d3-${name}.js`);
const kPage = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/d3-flame-graph/dist/d3-flamegraph.css"><div id="chart"></div>
${[...kScripts, "/d3-flame-graph/dist/d3-flamegraph.umd.js"].map((path) => `<script src="${path}"></script>`).join("\n")}`;

let traces, server, browser;
before(async () => {
  traces = writeTraces();
  server = await serve({ "/": packageFile("") }, { "/page.html": kPage });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  server?.close();
  traces?.remove();
});

// The data that d3-flame-graph draws: { name, value, children }.
function hierarchyOf(collapsed) {
  const root = { name: "all", value: 0, children: [] };
  for (const line of collapsed.split("\n").filter(Boolean)) {
    const [, stack, value] = /^(.*) (\d+)$/.exec(line) ?? assert.fail(line);
    let node = root;
    node.value += Number(value);
    for (const name of stack.split(";")) {
      let child = node.children.find((each) => each.name === name);
      if (!child) node.children.push((child = { name, value: 0, children: [] }));
      child.value += Number(value);
      node = child;
    }
  }
  return root;
}

const countNodes = (node) => 1 + node.children.reduce((sum, child) => sum + countNodes(child), 0);

test("every frame of every stack is drawn, as wide as it took", async () => {
  const root = hierarchyOf(traces.read("sample.collapsed"));
  assert.equal(root.value, 346_000_000);
  assert.deepEqual(root.children.map((each) => each.name).sort(), ["indexer", "main", "thread 102"]);
  const page = await browser.newPage(`${server.url}/page.html`);
  await page.evaluate((data) => {
    const chart = globalThis.flamegraph.default().width(1200).minFrameSize(0);
    globalThis.d3.select("#chart").datum(data).call(chart);
  }, root);
  assert.equal(await page.locator("g.frame").count(), countNodes(root));
  assert.ok(await page.locator("g.frame", { hasText: "pthread_mutex_lock" }).count());
  await takePicture(page, "trace_flame_graph");
  await page.finish();
});

test("names that break formats stay frames", () => {
  const root = hierarchyOf(traces.read("hostile.collapsed"));
  const main = root.children.find((each) => each.name === "main").children[0];
  assert.equal(main.name, "main");
  assert.equal(main.children.length, 20);
  assert.ok(main.children.every((each) => each.children.length === 0));
});
