// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { sourceAddress } from "../../../../collector/web/src/format/source";
import {
  flameTree,
  foldedTree,
  frameHue,
  type FlameNode,
} from "../../../../collector/web/src/parts/flame_tree";
import { tickStep } from "../../../../collector/web/src/report/hang_timeline";
import { timelineOf } from "../../../../collector/web/src/report/report_times";

const stack = (names: string, ms: number) => ({
  frames: [...names].map((name) => ({ function: name, module: "/usr/bin/app" })),
  ms,
});
const drawn = (node: FlameNode): string =>
  `${node.name}${node.value}${node.children.length > 0 ? `(${node.children.map(drawn).join(" ")})` : ""}`;
const stacks = [stack("bm", 1), stack("cm", 5), stack("bm", 2), stack("", 9), stack("xm", 0)];

describe("a flame graph", () => {
  test("left-heavy has each callee once, the longest first", () =>
    expect(drawn(flameTree(stacks, "left-heavy"))).toBe("all8(m8(c5 b3))"));
  test("in time order joins neighbours alone", () =>
    expect(drawn(flameTree(stacks, "time"))).toBe("all8(m8(b1 c5 b2))"));
  test("tells the same name in two modules apart", () => {
    const other = {
      frames: [
        { function: "b", module: "/usr/lib/other.so" },
        { function: "m", module: "/usr/bin/app" },
      ],
      ms: 1,
    };
    expect(drawn(flameTree([stack("bm", 1), other], "left-heavy"))).toBe("all2(m2(b1 b1))");
  });
  test("of more functions than a browser draws is folded level by level", () => {
    const many = Array.from({ length: 40 }, (_, i) => stack(`abcdefgh${String.fromCharCode(0x100 + i)}m`, 1));
    const whole = flameTree(many, "left-heavy");
    const folded = foldedTree(whole, 100);
    const nodes: FlameNode[] = [];
    for (const waiting = [folded]; waiting.length > 0;) {
      const node = waiting.pop()!;
      nodes.push(node);
      waiting.push(...node.children);
    }
    expect(nodes.length).toBeLessThanOrEqual(142);
    expect(folded.value).toBe(40);
    const more = nodes.find((node) => node.folded)!;
    expect(more.name).toBe("… 7 more");
    expect(more.folded!.children).toHaveLength(1);
    expect(foldedTree(whole, 1000)).toBe(whole);
  });
  test("emphasizes what the collector calls the program's own, whatever its module", () => {
    expect(frameHue({ function: "price (shop.js)", module: "[js]", own: true })).not.toBeNull();
    expect(frameHue({ function: "v8::Call", module: "/usr/bin/node", own: false })).toBeNull();
    expect(frameHue({ function: "price (shop.js)", module: "[js]" })).not.toBeNull();
    expect(frameHue({ function: "emit (node:events)", module: "[js]" })).toBeNull();
  });
  test("has no hue for the system's frames, and one for each scope of a program", () => {
    expect(frameHue({ function: "malloc", module: "/usr/lib/libc.so.6" })).toBeNull();
    expect(frameHue({ function: "A::f", module: "/usr/bin/app" })).toBe(
      frameHue({ function: "A::g", module: "/usr/bin/app" }),
    );
  });
});

test("a time line begins with the lag, and leaves most of its room to it", () => {
  const line = timelineOf({
    elapsed_ms: 1000,
    duration_ms: 3000,
    history: [
      { tag: "old", age_ms: 60_000, wall_ms: 5 },
      { tag: "key", age_ms: 1010, wall_ms: 10 },
      { tag: "the hang itself", age_ms: 0, wall_ms: 1000 },
    ],
    samples: [
      { age_ms: 100, stack: [] },
      { age_ms: 50, stack: [] },
    ],
  } as never);
  expect(line.fromMs).toBeCloseTo(-1050);
  expect(line.toMs).toBe(3000);
  expect(line.dispatches[1]).toMatchObject({ tag: "key", fromMs: -20, wallMs: 10 });
  expect(line.dispatches).toHaveLength(2);
  expect(line.samples).toEqual([
    { atMs: 900, untilMs: 950, index: 0 },
    { atMs: 950, untilMs: 1000, index: 1 },
  ]);
});

test.each([
  [10, 5, 2],
  [3000, 6, 500],
  [7, 6, 2],
])("steps of %s in about %s parts are %s", (span, ticks, step) =>
  expect(tickStep(span, ticks)).toBeCloseTo(step),
);

describe("the address of a frame's source", () => {
  const source = { url: "https://a.example/blob/1.0/{file}#L{line}", root: "/build/editor/" };
  const frame = (file: string, line: number | null = 7, own = true) => ({ file, line, own });
  test("has the path in the repository", () => {
    expect(sourceAddress(source, frame("/build/editor/src/index.cc"))).toBe(
      "https://a.example/blob/1.0/src/index.cc#L7",
    );
    expect(sourceAddress(source, frame("./orders.py", null))).toBe("https://a.example/blob/1.0/orders.py#L1");
    expect(sourceAddress(source, frame("a b/ü#?$&.ts"))).toBe(
      "https://a.example/blob/1.0/a%20b/%C3%BC%23%3F%24%26.ts#L7",
    );
  });
  test("is of the program's own files only", () => {
    expect(sourceAddress(source, frame("/usr/include/vector"))).toBe(null);
    expect(sourceAddress(source, frame("/build/editor/src/index.cc", 7, false))).toBe(null);
    expect(sourceAddress(source, frame("/build/editor/../other/x.cc"))).toBe(null);
    expect(sourceAddress(source, frame("C:\\build\\x.cc"))).toBe(null);
    expect(sourceAddress(source, { own: true })).toBe(null);
    expect(sourceAddress(null, frame("x.cc"))).toBe(null);
  });
  test("is never a script", () =>
    expect(sourceAddress({ url: "javascript:{file}", root: "" }, frame("alert(1)"))).toBe(null));
});
