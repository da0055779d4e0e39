// SPDX-License-Identifier: Apache-2.0
const { execSync } = require("child_process");

function handle() {
  execSync("sleep 1"); // FREEZE handle
}

process.stdin.on("data", (text) => {
  if (text.toString().includes("freeze")) handle();
});
