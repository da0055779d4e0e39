// SPDX-License-Identifier: Apache-2.0
// Details that are made when they are opened: a report may have hundreds, of hundreds of rows each.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface FoldedProps {
  summary: ComponentChildren;
  class?: string;
  isOpen?: boolean; // at first
  children: ComponentChildren;
}

export function Folded({ summary, class: name, isOpen = false, children }: FoldedProps) {
  const [isMade, setMade] = useState(isOpen);
  return (
    <details class={name} open={isOpen} onToggle={(event) => event.currentTarget.open && setMade(true)}>
      <summary>{summary}</summary>
      {isMade && children}
    </details>
  );
}
