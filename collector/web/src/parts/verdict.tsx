// SPDX-License-Identifier: Apache-2.0
// The verdict of a report: each has its own colour, everywhere the same.

export const kVerdicts: Readonly<Record<string, string>> = {
  cpu: "The loop's own thread computed",
  lock: "It waited for a lock",
  deadlock: "Threads wait for each other",
  disk: "It waited for a disk",
  memory: "It waited for memory",
  network: "It waited for the network",
  process: "It waited for another process",
  pipe: "It waited for the other end of a pipe",
  display: "It waited for the X or Wayland server",
  service: "It waited for a service of this machine",
  "name-lookup": "It waited for a name server",
  gc: "A garbage collection had stopped it",
  safepoint: "It waited until all threads of the JVM stood still",
  "class-loading": "It waited until another thread had loaded or initialized a class",
  jit: "It waited for a compiler of the JVM",
  sleep: "It slept",
  starved: "Other threads had the processors",
  throttled: "Its control group had used up its share",
  stopped: "It was stopped",
  unknown: "Unknown",
};

export const verdictColor = (word: string): string =>
  `var(--verdict-${word in kVerdicts ? word : "unknown"})`;

export function VerdictWord({ word }: { word: string }) {
  return (
    <span class="verdict" title={kVerdicts[word] ?? ""}>
      <i style={{ background: verdictColor(word) }} aria-hidden="true" />
      {word}
    </span>
  );
}

// The one that most of the time is owed to.
export function mainVerdict(verdictMs: Readonly<Record<string, number>>): string | null {
  const [most] = Object.entries(verdictMs).sort(([, a], [, b]) => b - a);
  return most ? most[0] : null;
}
