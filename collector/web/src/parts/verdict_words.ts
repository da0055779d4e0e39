// SPDX-License-Identifier: Apache-2.0
// The words of a verdict, and the shares of time. Written by lagwatch-schema from policies/verdict.def.

export const kVerdicts: Readonly<Record<string, string>> = {
  cpu: "It computed, in the program or in the kernel",
  lock: "It waited for a lock, or for another thread",
  deadlock: "It waited for a lock that is never released",
  disk: "It waited for a file or a device",
  memory: "It waited for its own memory",
  network: "It waited for the network, a terminal or an event",
  process: "It waited for a child, or another process",
  pipe: "It waited for the other end of a pipe",
  display: "It waited for the X or Wayland server",
  service: "It waited for a service of this machine, D-Bus for example",
  "name-lookup": "It waited for a name server",
  gc: "It was stopped by a garbage collection of its run time (Java)",
  safepoint: "It waited until all threads of its JVM stood still, or for the JVM's work that needs it",
  "class-loading": "It waited until another thread had loaded or initialized a class (Java)",
  jit: "It waited for a compiler of its JVM",
  sleep: "It slept by its own will",
  starved: "It was ready, and got no processor",
  throttled: "It was ready, and its control group's quota was used up",
  stopped: "It was stopped by a signal or a debugger",
  unknown: "It spent its time in a way that is not known",
};

// Each with the word that it speaks for, and its member of a report's verdict.
export const kTimeShares = [
  ["on the processor, own code", "cpu", "user_ms"],
  ["on the processor, in the kernel", "cpu", "kernel_ms"],
  ["ready, but others had the processors", "starved", "run_queue_ms"],
  ["held back by its control group", "throttled", "throttled_ms"],
  ["waiting for a lock", "lock", "lock_ms"],
  ["waiting for a disk", "disk", "disk_ms"],
  ["waiting for memory", "memory", "memory_ms"],
  ["waiting for the network", "network", "network_ms"],
  ["waiting for another process", "process", "process_ms"],
  ["waiting for the other end of a pipe", "pipe", "pipe_ms"],
  ["waiting for the display", "display", "display_ms"],
  ["waiting for a service of this machine", "service", "service_ms"],
  ["waiting for a name server", "name-lookup", "name_lookup_ms"],
  ["stopped by a garbage collection", "gc", "gc_ms"],
  ["waiting for a safepoint", "safepoint", "safepoint_ms"],
  ["waiting for a class", "class-loading", "class_loading_ms"],
  ["waiting for a compiler", "jit", "jit_ms"],
  ["asleep", "sleep", "sleep_ms"],
  ["stopped", "stopped", "stopped_ms"],
] as const;
