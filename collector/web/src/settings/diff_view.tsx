// SPDX-License-Identifier: Apache-2.0
// The changes from one config to another, line by line.
import { diffLines } from "diff";
import { asText, type ConfigObject } from "./draft";

export function DiffView({ before, after }: { before: ConfigObject | null; after: ConfigObject | null }) {
  const parts = diffLines(asText(before), asText(after));
  return (
    <pre class="diff" tabIndex={0} aria-label="What changes">
      {parts.map((part, i) => {
        const sign = part.added ? "+" : part.removed ? "−" : " ";
        const lines = part.value.replace(/\n$/, "").split("\n");
        return (
          <span key={i} class={part.added ? "added" : part.removed ? "removed" : ""}>
            {lines.map((line) => `${sign} ${line}\n`).join("")}
          </span>
        );
      })}
    </pre>
  );
}
