// SPDX-License-Identifier: Apache-2.0
const fs = require("fs");

class Orders {
  load() {
    return fs.readFileSync(process.env.FIFO, "utf8"); // FREEZE load
  }
}

function handle() {
  new Orders().load();
}

process.stdin.on("data", (text) => {
  if (text.toString().includes("freeze")) handle();
});
