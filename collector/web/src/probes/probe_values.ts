// SPDX-License-Identifier: Apache-2.0
// Keys and numbers of a probe's rows.
import type { ProbeTable } from "../api/types";
import type { TimedStack } from "../parts/flame_tree";

type Row = ProbeTable["rows"][number];
type KeyPart = Row["key"][number];

export const isStack = (part: KeyPart): part is readonly string[] => Array.isArray(part);

export function keyText(part: KeyPart): string {
  if (part === null) return "(unreadable)";
  if (isStack(part)) return part.length === 0 ? "(no stack)" : part.join(" ← ");
  return `${part}`;
}

// The number that the table is about; null: there is none.
export function numberOf({ kind }: ProbeTable, row: Row): number | null {
  if (kind === "count" || kind === "histogram") return row.count;
  const value = row.value ?? null;
  if (kind !== "avg") return value;
  return value === null || row.count === 0 ? null : value / row.count;
}

// "malloc (libc.so.6)" is a function of a library, "main" one of the program.
export function stacksOf(table: ProbeTable): TimedStack[] {
  return table.rows.flatMap((row) => {
    const stack = row.key.find(isStack);
    if (stack === undefined) return [];
    const frames = stack.map((name) => {
      const [, ofModule, module] = /^(.*) \(([^()]*)\)$/.exec(name) ?? [];
      return { function: ofModule ?? name, module: module ?? "", own: module === undefined };
    });
    return [{ frames, ms: numberOf(table, row) ?? 0 }];
  });
}
