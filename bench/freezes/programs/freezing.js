// SPDX-License-Identifier: Apache-2.0
// node freezing.js FLAG: see freezing.c.
const fs = require("fs");
const flag = process.argv[2];

function freezeSleep() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
}

function freezeCompute() {
  const end = Date.now() + 1500;
  while (Date.now() < end);
}

function freezeChild() {
  require("child_process").execSync("sleep 1.5");
}

const ways = { sleep: freezeSleep, compute: freezeCompute, child: freezeChild };
setInterval(() => {
  if (!fs.existsSync(flag)) return;
  ways[fs.readFileSync(flag, "utf8").trim()]();
  fs.unlinkSync(flag);
}, 50);
