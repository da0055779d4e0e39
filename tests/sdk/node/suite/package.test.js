// SPDX-License-Identifier: Apache-2.0
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
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
    "--require, with variables of lagwatch's commands": async (program) => {
      const spool = `${program.home}/other`;
      await program.run('console.log(require("lagwatch").isOn());', {
        start: "", flags: ["--require", "lagwatch/register"],
        environment: { LAGWATCH_SPOOL: spool, LAGWATCH_COMMAND: "x", LAGWATCH_PRELOAD_CONFIG: "x", LAGWATCH_FUTURE: "1" },
      }).then((output) => assert.strictEqual(output, "true\n"));
      assert(fs.existsSync(spool));
    },
    "a second copy": async (program) => {
      fs.cpSync(path.join(__dirname, "node_modules/lagwatch"), path.join(program.home, "copy"), { recursive: true });
      const output = await program.run(`
        const { Worker } = require("node:worker_threads");
        console.log(require("./copy") === lagwatch);
        new Worker('const copy = require("./copy"); console.log(copy.start(), copy.isOn(), copy.whyOff());', { eval: true });
        let turns = 0;
        const timer = setInterval(() => ++turns > 25 && clearInterval(timer), 50);`);
      assert.strictEqual(output, "true\nfalse false the waits of Node's event loop cannot be seen here\n");
      assert.deepStrictEqual(program.reports(), []);
    },
    "names of requests leave room": async (program) => {
      await program.run(`
        const requests = require("node:diagnostics_channel").channel("http.server.request.start");
        let left = 5000; // in short turns, none of which is a hang on a busy machine
        const scan = () => {
          do requests.publish({ request: { method: "GET", url: "/scan/x" + left } }); while (--left % 250 !== 0);
          if (left !== 0) return setImmediate(scan);
          freeze();
          setTimeout(() => lagwatch.label("import", () => freeze()), 300);
        };
        setTimeout(scan, 20);`);
      assert.deepStrictEqual(program.hangs().map(([, tag]) => tag), ["other", "import"]);
    },
    "without labels a name is its callback's alone": async (program) => {
      await program.run(`
        const requests = require("node:diagnostics_channel").channel("http.server.request.start");
        setTimeout(() => {
          setImmediate(() => requests.publish({ request: { method: "GET", url: "/innocent" } }));
          setImmediate(() => freeze());
        }, 20);`, { start: START.replace("400", "400, labels: false") });
      assert.deepStrictEqual(program.hangs().map(([, tag]) => tag), [""]);
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
