// SPDX-License-Identifier: Apache-2.0
// The end of a run of a program, in words.
import type { Exit } from "../api/types";
import { count } from "../format/numbers";
import { kExits } from "./exit_words";

export function exitText(exit: Exit): string {
  const signal = exit.signal === null ? "" : `, signal ${exit.signal}`;
  return `${kExits[exit.reason] ?? exit.reason} (${exit.reason}${signal})`;
}

export const exitCounts = (exits: Readonly<Record<string, number>>): string =>
  Object.entries(exits)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, runs]) => `${count(runs)} ${reason}`)
    .join(", ");
