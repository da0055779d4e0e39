// SPDX-License-Identifier: Apache-2.0
function handle() {
  const end = Date.now() + 1000;
  let total = 0;
  while (Date.now() < end) total += Math.sqrt(total); // FREEZE handle
}

process.stdin.on("data", (text) => {
  if (text.toString().includes("freeze")) handle();
});
