// SPDX-License-Identifier: Apache-2.0
function handle() {
  const rows = Array.from({ length: 200000 }, (_, id) => ({ id, tags: ["a", String(id)] }));
  for (let i = 0; i < 8; i++) JSON.parse(JSON.stringify(rows)); // FREEZE handle
}

process.stdin.on("data", (text) => {
  if (text.toString().includes("freeze")) handle();
});
