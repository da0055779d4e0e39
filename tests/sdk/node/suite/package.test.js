// SPDX-License-Identifier: Apache-2.0
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const test = require("node:test");
const { FREEZE, START, withProgram } = require("./programs");

test("the package", { concurrency: 4 }, async (t) => {
  const cases = {
    "a callback that blocks the loop": async (program) => {
      await program.run("setTimeout(() => { freeze(); setTimeout(() => {}, 500); }, 100);");
      assert.deepStrictEqual(program.hangs(), [["main", "", "freeze (program.js)"]]);
    },
    "the first script": async (program) => {
      await program.run("freeze();");
      assert.deepStrictEqual(program.hangs(), [["main", "", "freeze (program.js)"]]);
    },
    "a child process that is waited for": async (program) => {
      await program.run('setTimeout(() => require("node:child_process").execSync("sleep 0.9"), 50);');
      const [report] = program.reports();
      assert.strictEqual(program.report(report.id).verdict.word, "process");
    },
    "long waits and many turns are no hangs": async (program) => {
      await program.run("const end = Date.now() + 1200; const turn = () => (Date.now() < end ? setImmediate(turn) : setTimeout(() => {}, 1200)); turn();", {
        start: START.replace("400", "1000"),
      });
      const kinds = program.reports().map((report) => report.kind);
      assert.deepStrictEqual(kinds.filter((kind) => kind !== "busy-loop"), []);
    },
    "labels are kept over awaits": async (program) => {
      await program.run(`
        async function job(name, ms) { await sleep(20); freeze(ms); await sleep(20); }
        (async () => {
          await Promise.all([lagwatch.label("import", () => job("import", 800)), job("other", 0)]);
          await sleep(50);
          freeze(800);
          await sleep(20);
          await lagwatch.label("export", async () => { freeze(800); });
        })();`);
      assert.deepStrictEqual(program.hangs().map(([, tag]) => tag), ["import", "", "export"]);
    },
    "a scope past its deadline": async (program) => {
      await program.run(`
        console.log(lagwatch.scope("quick", () => 7, { deadlineMs: 200 }));
        try { lagwatch.scope("fails", () => { throw Error("of the program"); }); } catch (error) { console.log(error.message); }
        setTimeout(() => lagwatch.scope("import", () => freeze(2000), { deadlineMs: 150 }), 50);`, { start: START.replace("400", "3000") });
      assert.deepStrictEqual(program.reports().map((report) => [report.kind, report.tag]), [["scope", "import"]]);
    },
    "workers": async (program) => {
      await program.run(`
        const { Worker, isMainThread } = require("node:worker_threads");
        if (isMainThread) for (let i = 0; i < 3; ++i) new Worker(__filename, { argv: [String(i)] });
        else setTimeout(() => { if (process.argv[2] === "1") freeze(); setTimeout(() => {}, 400); }, 50);`);
      assert.strictEqual(program.hangs().length, 1);
      assert.match(program.hangs()[0][0], /^worker \d+$/);
      assert.strictEqual(program.hangs()[0][2], "freeze (program.js)");
    },
    "workers that come and go": async (program) => {
      await program.run(`
        const { Worker, isMainThread } = require("node:worker_threads");
        let left = 30;
        const next = () => left-- > 0 && new Worker(__filename).on("exit", next);
        if (isMainThread) { next(); next(); }`, { start: START.replace("400", "3000") });
      assert.deepStrictEqual(program.reports(), []);
    },
    "an ECMAScript module": async (program) => {
      await program.run(`import lagwatch, { start, eventLoopUtilization } from "lagwatch";
        ${FREEZE} console.log(start({ app: "module", thresholdMs: 400 }), lagwatch.isOn(), typeof eventLoopUtilization().utilization);
        await sleep(50); freeze(); await sleep(50);`, { start: "", name: "program.mjs" }).then((output) => assert.strictEqual(output, "true true number\n"));
      assert.deepStrictEqual(program.hangs(), [["main", "", "freeze (program.mjs)"]]);
    },
    "--require, with options of the environment": async (program) => {
      await program.run(`${FREEZE} setTimeout(freeze, 50);`, {
        start: "", flags: ["--require", "lagwatch/register"], environment: { LAGWATCH_THRESHOLD_MS: "400", LAGWATCH_APP: "named" },
      });
      assert.deepStrictEqual(program.reports().map((report) => report.app), ["named"]);
    },
    "options": async (program) => {
      const output = await program.run(`
        const lagwatch = require("lagwatch");
        const tried = (options) => { try { return lagwatch.start(options); } catch (error) { return error.message; } };
        console.log(tried({ noSuchOption: 1 }), "|", tried({ thresholdMs: "long" }), "|", lagwatch.isOn());
        console.log(tried({ spoolSync: 0, watchCpu: true }), lagwatch.setValue("tabs", "3"), lagwatch.dump("by hand"), lagwatch.stats().hangs);
        setTimeout(() => { lagwatch.stop(); console.log(lagwatch.isOn(), lagwatch.whyOff() !== ""); }, 300);`, { start: "" });
      assert.strictEqual(output, "lagwatch: no option no_such_option=1 | lagwatch: no option threshold_ms=long | false\ntrue true true 0\nfalse true\n");
      assert.deepStrictEqual(program.reports().map((report) => [report.kind, report.tag]), [["dump", "by hand"]]);
    },
    "many labels": async (program) => {
      await program.run('for (let i = 0; i < 6000; ++i) lagwatch.label(`name ${i}`, () => {});', { start: START.replace("400", "3000") });
      assert.deepStrictEqual(program.reports(), []);
    },
    "nothing is left": async (program) => {
      await program.run("setTimeout(() => {}, 20);");
      assert.deepStrictEqual(fs.readdirSync(program.home).sort(), [".local", "node_modules", "program.js"]);
    },
  };
  await Promise.all(Object.entries(cases).map(([name, work]) => t.test(name, withProgram(work))));
});
