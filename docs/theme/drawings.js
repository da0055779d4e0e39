// SPDX-License-Identifier: Apache-2.0
// Marks blocks of code that are drawings: their lines are never broken.
"use strict";

for (const code of document.querySelectorAll("pre > code"))
  if (/[─│┌┐└┘├┤┬┴┼▶◀▲▼]/.test(code.textContent)) code.parentElement.classList.add("drawing");
