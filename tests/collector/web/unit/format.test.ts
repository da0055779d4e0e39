// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { causeName, place, shortName } from "../../../../collector/web/src/format/frames";
import {
  bytes,
  count,
  duration,
  estimate,
  percent,
  plural,
  rate,
} from "../../../../collector/web/src/format/numbers";
import { marked } from "../../../../collector/web/src/format/marks";
import { factName, factText } from "../../../../collector/web/src/report/context";
import { headline, isWait } from "../../../../collector/web/src/report/report_text";
import { oddHeader, oddNumbers } from "../../../../collector/web/src/format/plausible";
import { deviceText, systemText } from "../../../../collector/web/src/format/platform";
import { ago, day, isoMoment, moment } from "../../../../collector/web/src/format/times";
import { tickStep } from "../../../../collector/web/src/report/hang_timeline";

describe("a duration", () => {
  test.each([
    [0, "0 ms"],
    [0.25, "250 µs"],
    [3.456, "3.46 ms"],
    [999, "999 ms"],
    [999.9, "1 s"],
    [3400, "3.4 s"],
    [119_000, "119 s"],
    [120_000, "2 min"],
    [7_200_000, "2 h"],
    [172_800_000, "2 d"],
    [null, "–"],
    [Number.NaN, "–"],
  ])("of %s ms is %s", (ms, text) => expect(duration(ms)).toBe(text));
});

test.each([
  ["Linux 6.1.0-18-amd64", "x86_64", "Linux 6.1.0-18-amd64 x86_64"],
  ["Linux 5.10.43-android12-9-00001", "aarch64", "Android, Linux 5.10.43-android12-9-00001 aarch64"],
  ["Android 14", "arm64-v8a", "Android 14 arm64-v8a"],
  ["Darwin 23.4.0", "iPhone14,2", "iOS, Darwin 23.4.0 iPhone14,2"],
  ["Darwin 23.4.0", "iPad13,1", "iPadOS, Darwin 23.4.0 iPad13,1"],
  ["Darwin 23.4.0", "arm64", "macOS, Darwin 23.4.0 arm64"],
  ["iOS 17.4", "iPhone14,2", "iOS 17.4 iPhone14,2"],
  ["", "", " "],
])("the system %s on %s is %s", (os, machine, text) => expect(systemText({ os, machine })).toBe(text));

test("a device has its kind where its model shows it", () => {
  expect(deviceText("iPhone14,2")).toBe("iPhone14,2 (phone)");
  expect(deviceText("iPad13,1")).toBe("iPad13,1 (tablet)");
  expect(deviceText("samsung SM-G991B")).toBe("samsung SM-G991B");
});

test("numbers come with their units", () => {
  expect(count(12)).toBe("12");
  expect(count(1_234_567)).toBe("1.2M");
  expect(percent(0.005)).toBe("0.5 %");
  expect(percent(0.0001)).toBe("< 0.1 %");
  expect(bytes(1536)).toBe("1.5 KiB");
  expect(rate(1500)).toBe("1.5 s/h");
  expect(rate(null)).toBe("–");
  expect(plural(1, "report")).toBe("1 report");
  expect(plural(2, "report")).toBe("2 reports");
});

describe("a text that shows another", () => {
  test.each([
    ["Save\u202egpj.exe", "Save⟨U+202E⟩gpj.exe"],
    ["\u2066a\u2069 \u200fb\u061c", "⟨U+2066⟩a⟨U+2069⟩ ⟨U+200F⟩b⟨U+061C⟩"],
    ["a\u0007\u001b[31m\u009b\u007f", "a⟨U+0007⟩⟨U+001B⟩[31m⟨U+009B⟩⟨U+007F⟩"],
    ["x\u200b\ufeff\u{e0041}", "x⟨U+200B⟩⟨U+FEFF⟩⟨U+E0041⟩"],
    ["two\nlines\t…", "two\nlines\t…"],
    ["אב é 👩‍💻 ←", "אב é 👩‍💻 ←"],
  ])("is marked: %j", (text, shown) => expect(marked(text)).toBe(shown));
});

test("how long ago", () => expect(ago(1_000_000, 1_000_000 + 2 * 3_600_000)).toBe("2 hr. ago"));

const kImpossible = [8640000000000001, 2 ** 63, -(2 ** 63), Number.NaN, Infinity];

describe.each(kImpossible)("the impossible time %s", (ms) => {
  test.each([moment, day, isoMoment, ago])("is shown as none", (show) =>
    expect(show(ms)).toBe("no valid time"),
  );
});

test.each(kImpossible)("the impossible number %s is shown, and short", (value) => {
  for (const show of [duration, count, percent, bytes, rate]) expect(show(value).length).toBeLessThan(30);
});

test("steps of a time line are numbers, whatever it spans", () =>
  expect(tickStep(2 ** 63, 6)).toBeGreaterThan(0));

describe("what cannot be right of a report", () => {
  const now = Date.UTC(2026, 0, 1);
  const good = { start_wall_ms: now - 1000, duration_ms: 3000, elapsed_ms: 2000, pid: 7 };
  test("is nothing of most", () => expect(oddNumbers(good, now)).toEqual([]));
  test("is told of its header", () => {
    expect(oddHeader({ ...good, start_wall_ms: now + 2 * 86_400_000 }, now)).toEqual(["its begin"]);
    expect(oddHeader({ ...good, start_wall_ms: 0, duration_ms: -1 }, now)).toHaveLength(2);
  });
  test("is told of what is within", () =>
    expect(
      oddNumbers({ ...good, history: [{ age_ms: 1e13 }], cpu: { thread_ms: 2 ** 60 } } as never, now),
    ).toEqual(["thread ms", "age ms"]));
});

describe("a function's name", () => {
  test("that is short stays", () =>
    expect(shortName("std::vector<int>::push_back")).toBe("std::vector<int>::push_back"));
  test("that is long loses its arguments", () => {
    const name =
      "std::map<std::string, std::vector<Heading, std::allocator<Heading>>, std::less<void>>::find<char const*>";
    expect(shortName(name)).toBe("std::map<…>::find<…>");
  });
  test("keeps its operators", () => {
    expect(shortName(`Matrix<${"a very long name of a type, ".repeat(4)}>::operator<`)).toBe(
      "Matrix<…>::operator<",
    );
    expect(shortName(`Pointer<${"a very long name of a type, ".repeat(4)}>::operator->`)).toBe(
      "Pointer<…>::operator->",
    );
  });
  test("whose brackets do not match is left as it is", () => {
    const name = `<${"x".repeat(100)}`;
    expect(shortName(name)).toBe(name);
  });
});

test("a frame's place and a cause's name", () => {
  expect(place({ file: "/src/a.cc", line: 7 })).toBe("a.cc:7");
  expect(place({ file: null, line: 7 })).toBe("");
  expect(causeName({ title: "Slow", frames: ["A"], key: "1" })).toBe("Slow");
  expect(causeName({ title: null, frames: [], key: "1" })).toBe("cause 1");
});

test.each([
  ["rss_bytes", 1048576, "1 MiB"],
  ["capture_pause_us", 250, "250 µs"],
  ["cpu_pressure_permille", 373, "37 %"],
  ["scene", "inbox", "inbox"],
  ["threads", 6, "6"],
])("the fact %s of %s is %s", (name, value, text) => expect(factText(name, value)).toBe(text));

test.each([
  ["rss_bytes", "memory in use (RSS)"],
  ["load_5_permille", "load over 5 min"],
  ["cgroup_throttled_ms", "control group: throttled"],
  ["scheduling_policy", "scheduling policy"],
])("the fact %s is called %s", (name, words) => expect(factName(name)).toBe(words));

test.each([
  [5.3, "5"],
  [0.2, "1"],
  [0, "0"],
  [12_345.6, "12.3K"],
])("an estimate of %s things is %s", (value, text) => expect(estimate(value)).toBe(text));

describe("a report's title", () => {
  const report = (fields: object) =>
    ({
      app: "shop",
      version: "2.4.0",
      kind: "lag",
      duration_ms: 3400,
      ended: true,
      cause: ["priceOf", "cart"],
      expensive_stack: [
        { function: "epoll_pwait", own: false },
        { function: "priceOf", own: true },
      ],
      ...fields,
    }) as never;
  const text = (fields: object) => {
    const { function: name, rest } = headline(report(fields));
    return name + rest;
  };
  test("says what froze", () => expect(text({})).toBe("priceOf froze shop 2.4.0 for 3.4 s"));
  test("says that it may not be over", () =>
    expect(text({ ended: false })).toBe("priceOf froze shop 2.4.0 for 3.4 s or longer"));
  test("of a slow dispatch is that it was slow", () =>
    expect(text({ kind: "slow" })).toBe("priceOf made shop 2.4.0 slow for 3.4 s"));
  test("without a function of the program's own has the cause's", () =>
    expect(text({ expensive_stack: [], cause: ["libfoo.so"] })).toBe("libfoo.so froze shop 2.4.0 for 3.4 s"));
  test("without any function has the program", () =>
    expect(text({ expensive_stack: [], cause: [] })).toBe("shop 2.4.0 froze for 3.4 s"));
  test("does not name a wait as the dispatch", () =>
    expect(["epoll_pwait", "poll", "paste"].map(isWait)).toEqual([true, true, false]));
});
