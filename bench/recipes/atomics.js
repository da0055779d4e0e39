// SPDX-License-Identifier: Apache-2.0
const word = new Int32Array(new SharedArrayBuffer(4));

function handle() {
  Atomics.wait(word, 0, 0, 1000); // FREEZE handle
}

process.stdin.on("data", (text) => {
  if (text.toString().includes("freeze")) handle();
});
