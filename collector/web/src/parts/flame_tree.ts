// SPDX-License-Identifier: Apache-2.0
// Stacks and how long each was there, as a tree of callers and callees.

export interface FlameFrame {
  readonly function: string;
  readonly module: string;
  readonly file?: string | null | undefined;
  readonly line?: number | null | undefined;
  readonly own?: boolean | undefined; // of the program itself; not known of traces
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
  folded?: FlameNode; // stands for what is below this node, which has no room in the picture
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

const countOf = (node: FlameNode): number => {
  let count = 0;
  const waiting = [node];
  for (let each = waiting.pop(); each; each = waiting.pop()) {
    ++count;
    waiting.push(...each.children);
  }
  return count;
};

// At most about so many nodes: level by level from the root, the others folded into one child of their caller.
export function foldedTree(root: FlameNode, most: number): FlameNode {
  if (countOf(root) <= most) return root;
  const top: FlameNode = { ...root, children: [] };
  let left = most;
  for (let level: [FlameNode, FlameNode][] = [[root, top]]; level.length > 0;) {
    const next: [FlameNode, FlameNode][] = [];
    for (const [whole, shown] of level) {
      if (whole.children.length === 0) continue;
      if (left < whole.children.length) {
        const value = whole.children.reduce((sum, child) => sum + child.value, 0);
        shown.children.push({
          name: `… ${countOf(whole) - 1} more`,
          frame: null,
          value,
          children: [],
          folded: whole,
        });
        continue;
      }
      for (const child of whole.children) {
        const copy: FlameNode = { ...child, children: [] };
        shown.children.push(copy);
        next.push([child, copy]);
      }
      left -= whole.children.length;
    }
    level = next;
  }
  return top;
}

const kSystem =
  /^(lib(c|m|gcc_s|stdc\+\+|pthread|dl)[-.0-9]*\.so|ld-linux|\[(vdso|vsyscall|heap|stack)|linux-vdso)/;

// As far as a frame without `own` shows it.
function isOwn(frame: FlameFrame, module: string): boolean {
  if (frame.own !== undefined) return frame.own;
  return module !== "" && !kSystem.test(module) && !/\((node:|native\)|<frozen )/.test(frame.function);
}

// The program's own frames have one hue for each scope; those of waits, libraries and the system have none.
export function frameHue(frame: FlameFrame): number | null {
  const module = frame.module.slice(frame.module.lastIndexOf("/") + 1);
  if (!isOwn(frame, module)) return null;
  const scope = frame.function.includes("::")
    ? frame.function.slice(0, frame.function.lastIndexOf("::"))
    : frame.function;
  let hash = 2166136261;
  for (const text of [module, scope])
    for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return 12 + ((hash >>> 8) % 44);
}
