// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { flameTree, frameHue, type FlameNode } from "../../../../collector/web/src/parts/flame_tree";
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
    ],
    samples: [
      { age_ms: 100, stack: [] },
      { age_ms: 50, stack: [] },
    ],
  } as never);
  expect(line.fromMs).toBeCloseTo(-1050);
  expect(line.toMs).toBe(3000);
  expect(line.dispatches[1]).toEqual({ tag: "key", fromMs: -10, wallMs: 10 });
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
