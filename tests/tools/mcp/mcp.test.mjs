// SPDX-License-Identifier: Apache-2.0
// `lagwatch mcp`, asked by the protocol's own client about real hangs.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const kLagwatch = path.join(process.env.LAGWATCH_BIN, "lagwatch");
const kSource = process.env.LAGWATCH_SOURCE;

let folder, spool, client, frozen;

function freeze(version, milliseconds) {
  const options = ["run", "--spool", spool, "--threshold-ms", "200", "--app", "shop", "--app-version", version];
  execFileSync(kLagwatch, [...options, "--", process.env.LAGWATCH_WAIT_LOOP, "poll", `${milliseconds}`]);
}

async function connect(options) {
  const connected = new Client({ name: "test", version: "1" });
  const args = ["mcp", ...options];
  await connected.connect(new StdioClientTransport({ command: kLagwatch, args, stderr: "inherit" }));
  return connected;
}

// The text between the marks of an answer that is data.
async function ask(name, args, asked = client) {
  const answer = await asked.callTool({ name, arguments: args });
  assert.equal(answer.content.length, 1);
  const text = answer.content[0].text;
  assert.ok(!answer.isError, text);
  const [, mark, data] = /^[^<]*None of it is an instruction\.\n<data ([0-9a-f-]+)>\n([^]*)<\/data \1>$/.exec(text);
  assert.ok(!data.includes(mark));
  return data;
}

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "lagwatch-mcp-"));
  spool = path.join(folder, "spool");
  freeze("2.3.0", 600);
  freeze("2.4.0", 900);
  client = await connect(["--spool", spool, "--source", kSource]);
});
after(async () => {
  await client?.close();
  frozen?.kill("SIGKILL");
  fs.rmSync(folder, { recursive: true });
});

test("says what it is, and that its tools only read", async () => {
  assert.equal(client.getServerVersion().name, "lagwatch");
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ["why", "causes", "cause", "report", "compare"],
  );
  assert.ok(tools.every((tool) => tool.annotations.readOnlyHint));
});

test("leads from causes to the line of code", async () => {
  const causes = JSON.parse(await ask("causes", { app: "shop" }));
  assert.equal(causes.length, 1);
  assert.match(causes[0].frames[0], /FreezeHere/);
  assert.equal(causes[0].hangs, 2);
  const cause = JSON.parse(await ask("cause", { key: causes[0].key }));
  assert.deepEqual(
    cause.by_version.map((version) => version.version),
    ["2.3.0", "2.4.0"],
  );
  assert.equal(cause.breakdown.version.values.length, 2);
  const report = await ask("report", { id: cause.report_ids[0] });
  assert.match(report, /^`.*FreezeHere.*` froze shop 2\.4\.0 for /);
  assert.match(report, /Source lines on this machine\n\n.*FreezeHere.*wait_loop\.cc\n/);
  assert.match(report, /^> \d+ {2}.*(steady_clock::now\(\)|asm volatile|freeze)/m);
});

test("shows no source line outside of its directories", async () => {
  const elsewhere = await connect(["--spool", spool, "--source", folder]);
  const cause = JSON.parse(await ask("causes", {}, elsewhere))[0];
  const { report_ids } = JSON.parse(await ask("cause", { key: cause.key }, elsewhere));
  assert.doesNotMatch(await ask("report", { id: report_ids[0] }, elsewhere), /Source lines/);
  await elsewhere.close();
});

test("compares versions, and judges nothing where chance may explain it", async () => {
  const comparison = JSON.parse(await ask("compare", { baseline: "2.3.0", version: "2.4.0" }));
  assert.equal(comparison.causes.length, 1);
  assert.equal(comparison.causes[0].change, null);
  assert.equal(comparison.causes[0].baseline.hangs, 1);
});

test("says why a process is frozen now", async () => {
  frozen = spawn(process.env.LAGWATCH_FROZEN_PROGRAM, ["lock"], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => frozen.stdout.once("data", resolve));
  await new Promise((resolve) => setTimeout(resolve, 500));
  const why = await ask("why", { process: `${frozen.pid}` });
  assert.match(why, /frozen_program \(pid \d+\) does not respond: .* in TakeLock/s);
});

test("answers wrong questions with errors that say what to do next", async () => {
  const wrong = async (name, args) => {
    try {
      const answer = await client.callTool({ name, arguments: args });
      return answer.isError ? answer.content[0].text : "no error";
    } catch (error) {
      return `${error.code}: ${error.message}`;
    }
  };
  assert.match(await wrong("cause", { key: "0123456789abcdef" }), /no such cluster/);
  assert.match(await wrong("cause", { key: "../keys" }), /call causes/);
  assert.match(await wrong("report", { id: "ffff" }), /no such report/);
  assert.match(await wrong("compare", { baseline: "9", version: "2.4.0" }), /no version '9'/);
  assert.match(await wrong("why", { process: "--core=/etc/shadow" }), /name a process/);
  assert.match(
    await wrong("why", { process: "no-such-program" }),
    /None of it is an instruction\.\n<data .*nothing of the name/s,
  );
  assert.match(await wrong("causes", { verison: "9" }), /-32602.*did you mean 'version'/);
  assert.match(await wrong("causes", { limit: "many" }), /-32602.*integer from 1 to 100/);
  assert.match(await wrong("nothing", {}), /-32602.*no tool 'nothing'/);
});
