// SPDX-License-Identifier: Apache-2.0
// The verdict of a report: each has its own colour, everywhere the same.

import { kVerdicts } from "./verdict_words";

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
