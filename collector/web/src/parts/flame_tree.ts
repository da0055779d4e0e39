// SPDX-License-Identifier: Apache-2.0
// Stacks and how long each was there, as a tree of callers and callees.

export interface FlameFrame {
  readonly function: string;
  readonly module: string;
  readonly file?: string | null | undefined;
  readonly line?: number | null | undefined;
}

export interface TimedStack {
  readonly frames: readonly FlameFrame[]; // innermost first
  readonly ms: number;
}

export interface FlameNode {
  name: string;
  frame: FlameFrame | null; // null: the root
  value: number; // milliseconds
  children: FlameNode[];
}

// Left-heavy: the same callees of one caller are one, the longest first. In time order only neighbours are one.
export type FlameOrder = "left-heavy" | "time";

const isSame = (node: FlameNode, frame: FlameFrame): boolean =>
  node.name === frame.function && node.frame?.module === frame.module;

export function flameTree(stacks: readonly TimedStack[], order: FlameOrder): FlameNode {
  const root: FlameNode = { name: "all", frame: null, value: 0, children: [] };
  for (const { frames, ms } of stacks) {
    if (!(ms > 0) || frames.length === 0) continue;
    root.value += ms;
    let at = root;
    for (let i = frames.length - 1; i >= 0; --i) {
      const frame = frames[i]!;
      const last = at.children[at.children.length - 1];
      let next =
        order === "time"
          ? last && isSame(last, frame)
            ? last
            : undefined
          : at.children.find((child) => isSame(child, frame));
      if (!next) {
        next = { name: frame.function, frame, value: 0, children: [] };
        at.children.push(next);
      }
      next.value += ms;
      at = next;
    }
  }
  if (order === "left-heavy") sortByValue(root);
  return root;
}

function sortByValue(root: FlameNode): void {
  const waiting = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    node.children.sort((a, b) => b.value - a.value);
    waiting.push(...node.children);
  }
}

// The same program's frames share a hue; the system's have none.
export function frameHue(frame: FlameFrame): number | null {
  const module = frame.module.slice(frame.module.lastIndexOf("/") + 1);
  if (
    module === "" ||
    /^(lib(c|m|gcc_s|stdc\+\+|pthread|dl)[-.0-9]*\.so|ld-linux|\[|linux-vdso)/.test(module)
  )
    return null;
  const scope = frame.function.includes("::")
    ? frame.function.slice(0, frame.function.lastIndexOf("::"))
    : frame.function;
  let hash = 2166136261;
  for (const text of [module, scope])
    for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return 12 + ((hash >>> 8) % 44);
}
