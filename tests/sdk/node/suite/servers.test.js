// SPDX-License-Identifier: Apache-2.0
"use strict";
// Servers under load, with one request that hangs: the report names its function and its route.
const assert = require("node:assert");
const test = require("node:test");
const { withProgram } = require("./programs");

const CLIENT = `
  async function load(port) {
    const http = require("node:http");
    const agent = new http.Agent({ keepAlive: true });
    const get = (path) => new Promise((done, fail) =>
      http.get({ port, path, agent }, (answer) => answer.resume().on("end", () => done(answer.statusCode))).on("error", fail));
    let isOver = false, answered = 0;
    const client = async () => { while (!isOver) { if (await get("/fast") !== 200) throw Error("refused"); ++answered; } };
    const clients = [client(), client(), client()];
    await sleep(150);
    for (const path of ["/slow/17?user=alice", "/late/18"]) { await get(path); await sleep(100); }
    isOver = true;
    await Promise.all(clients);
    if (answered < 6) throw Error("no load: " + answered);
    process.exit();
  }`;
const isThere = (name) => {
  try {
    return Boolean(require.resolve(name));
  } catch {
    return false;
  }
};
const expected = [
  ["main", "GET /slow/N", "freeze (program.js)"],
  ["main", "GET /late/N", "freeze (program.js)"],
];

test("servers", { concurrency: 2 }, async (t) => {
  await Promise.all([
    t.test("node:http", withProgram(async (program) => {
      await program.run(`${CLIENT}
        const server = require("node:http").createServer(async (request, answer) => {
          if (request.url.startsWith("/late")) await sleep(30);
          if (request.url !== "/fast") freeze();
          answer.end("x");
        });
        server.listen(0, "127.0.0.1", () => load(server.address().port));`);
      assert.deepStrictEqual(program.hangs(), expected);
    })),
    t.test("express", { skip: !isThere("express") && "express is not installed" }, withProgram(async (program) => {
      await program.run(`${CLIENT}
        const app = require("express")();
        app.get("/fast", (request, answer) => answer.send("x"));
        app.get("/slow/:id", (request, answer) => { freeze(); answer.send("x"); });
        app.get("/late/:id", async (request, answer) => { await sleep(30); freeze(); answer.send("x"); });
        const server = app.listen(0, "127.0.0.1", () => load(server.address().port));`);
      assert.deepStrictEqual(program.hangs(), expected);
    })),
  ]);
});
