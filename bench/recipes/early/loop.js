// SPDX-License-Identifier: Apache-2.0
// A loop that freezes once, as loop.c does: loop.js POLL DISPATCH KIND. An event is a byte of standard input.
const { execSync, spawnSync } = require("child_process");
const fs = require("fs");
const [poll, dispatch, kind] = process.argv.slice(2);
const FREEZE_MS = 900;

function freezeHere() {
  if (kind === "cpu") {
    for (const end = Date.now() + FREEZE_MS; Date.now() < end; );
  } else if (kind === "wait") {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FREEZE_MS);
  } else if (kind === "child") {
    spawnSync("sleep", ["0.9"]);
  } else if (kind === "output") {
    execSync("sleep 0.9; echo late");
  } else {
    process.exit(2);
  }
}

let turns = 0;
function turn() {
  ++turns;
  if (turns === Number(dispatch)) freezeHere();
  if (turns === Number(dispatch) + 5) {
    console.log("good");
    process.exit();
  }
}

if (poll === "timer-many") {
  setInterval(turn, 15);
} else {
  process.stdin.on("data", (bytes) => {
    for (const _ of bytes) turn();
  });
}
