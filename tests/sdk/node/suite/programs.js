// SPDX-License-Identifier: Apache-2.0
"use strict";
// Runs small programs with the installed package, and reads their reports by the command lagwatch.
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const command = process.env.LAGWATCH_COMMAND ?? "lagwatch";
const FREEZE = 'function freeze(ms = 900) { for (const end = Date.now() + ms; Date.now() < end; ); }\nconst sleep = (ms) => new Promise((done) => setTimeout(done, ms));\n';
const START = `const lagwatch = require("lagwatch");\nif (!lagwatch.start({ app: "program", thresholdMs: 400 })) throw Error(lagwatch.whyOff());\n${FREEZE}`;

class Program {
  constructor() {
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "lagwatch-node-"));
    fs.symlinkSync(path.join(__dirname, "node_modules"), path.join(this.home, "node_modules"));
    this.environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(XDG_|LAGWATCH_|NODE_TEST)/.test(name)));
    this.environment.HOME = this.home;
  }

  remove() {
    fs.rmSync(this.home, { recursive: true });
  }

  write(name, text) {
    fs.writeFileSync(path.join(this.home, name), text);
  }

  // Runs `node ...arguments_` to its end; returns its output. Rejects if it fails.
  node(arguments_, environment = {}) {
    return new Promise((done, fail) => {
      const child = spawn(process.execPath, arguments_, { cwd: this.home, env: { ...this.environment, ...environment }, timeout: 60000 });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
      child.on("close", (status, signal) => (status === 0 ? done(output) : fail(Error(`exit status ${status ?? signal}\n${output}`))));
    });
  }

  run(text, { start = START, name = "program.js", flags = [], environment = {} } = {}) {
    this.write(name, start + text);
    return this.node([...flags, name], environment);
  }

  // The oldest first.
  reports() {
    let text;
    try {
      text = execFileSync(command, ["reports", "--json"], { env: this.environment, stdio: ["ignore", "pipe", "pipe"] }).toString();
    } catch (error) {
      if (!String(error.stderr).includes("no reports")) throw error;
      text = "";
    }
    // A hang may have several, while its stack changes.
    return (text.trim() ? JSON.parse(text) : []).filter((report) => report.ordinal === 0).sort((a, b) => a.start_wall_ms - b.start_wall_ms);
  }

  report(id) {
    return JSON.parse(execFileSync(command, ["report", id, "--json"], { env: this.environment }).toString());
  }

  // Of each report of what a program does for too long on purpose: loop, tag and the innermost function of its cause. A busy
  // machine may hold up a start, too.
  hangs() {
    return this.reports().filter((report) => report.cause[0]?.startsWith("freeze ")).map((report) => [report.loop, report.tag, report.cause[0]]);
  }
}

// A test with a program of its own.
const withProgram = (work) => async () => {
  const program = new Program();
  try {
    await work(program);
  } finally {
    program.remove();
  }
};

module.exports = { FREEZE, START, withProgram };
