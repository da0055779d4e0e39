// SPDX-License-Identifier: Apache-2.0
const crypto = require("crypto");

const handle = () => {
  crypto.pbkdf2Sync("secret", "salt", 1000000, 64, "sha512"); // FREEZE handle
};

process.stdin.on("data", (text) => {
  if (text.toString().includes("freeze")) handle();
});
