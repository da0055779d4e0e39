// SPDX-License-Identifier: Apache-2.0
function handle() {
  /^(a+)+$/.test("a".repeat(26) + "b"); // FREEZE handle
}

process.stdin.on("data", (text) => {
  if (text.toString().includes("freeze")) handle();
});
