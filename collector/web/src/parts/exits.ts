// SPDX-License-Identifier: Apache-2.0
// Names of the reasons that a run of a program ended for.
import type { Exit } from "../api/types";
import { count } from "../format/numbers";

export const kExits: Readonly<Record<string, string>> = {
  unknown: "It disappeared (killed, or an unnoted exit)",
  "clean-exit": "It ended by itself",
  "killed-in-lag": "It was killed while a loop was frozen",
  "oom-kill": "The kernel killed it: out of memory",
  update: "It was updated",
  reboot: "The machine was restarted",
  crash: "It crashed",
  stopped: "It was asked to end",
  "crash-in-lag": "It crashed while a loop was frozen",
  "hang-in-crash": "It crashed, and its crash handler hung",
};

export function exitText(exit: Exit): string {
  const signal = exit.signal === null ? "" : `, signal ${exit.signal}`;
  return `${kExits[exit.reason] ?? exit.reason} (${exit.reason}${signal})`;
}

export const exitCounts = (exits: Readonly<Record<string, number>>): string =>
  Object.entries(exits)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, runs]) => `${count(runs)} ${reason}`)
    .join(", ");
