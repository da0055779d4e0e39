// SPDX-License-Identifier: Apache-2.0
// The reasons that a run of a program ended for. Written by lagwatch-schema from policies/report_enums.def.

export const kExits: Readonly<Record<string, string>> = {
  unknown: "It disappeared, without evidence",
  "clean-exit": "The monitor was stopped, or the program ended by exit()",
  "killed-in-hang": "It vanished while a loop was frozen",
  "oom-kill": "The kernel ran out of memory and killed it",
  update: "Another version of the program was started after it",
  reboot: "The machine was restarted",
  crash: "The program noted the signal that ended it",
  stopped: "The program noted that it was asked to end",
  "crash-in-hang": "It crashed while a loop was frozen",
  "hang-in-crash": "A loop froze after its crash, in the handler say",
};
