// SPDX-License-Identifier: Apache-2.0
// A word with a link to its entry of the glossary.
import type { ComponentChildren } from "preact";

interface TermProps {
  of: string; // the entry's anchor, such as "hang-rate"
  inGrid?: boolean; // one stop of the Tab key is enough for a grid: its rows
  children: ComponentChildren;
}

export function Term({ of, inGrid = false, children }: TermProps) {
  return (
    <a class="term" href={`/glossary#${of}`} tabIndex={inGrid ? -1 : undefined}>
      {children}
    </a>
  );
}
