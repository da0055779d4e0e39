// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { takeEvents } from "../../../../collector/web/src/api/live";
import { joined, refreshed } from "../../../../collector/web/src/causes/cause_list";
import { rowsOf } from "../../../../collector/web/src/causes/cause_rows";
import { answerOf } from "../../../../collector/web/src/cause/versions";
import { isNew } from "../../../../collector/web/src/parts/state_mark";
import { visibleSpan } from "../../../../collector/web/src/parts/window_rows";
import { linesOf } from "../../../../collector/web/src/rate/rate_page";
import { numberProblem, withValue } from "../../../../collector/web/src/settings/draft";
import { settingsOf } from "../../../../collector/web/src/settings/known_settings";

const cause = (key: string, parts: string[] = []) =>
  ({ key, children: parts.map((part) => ({ key: part })) }) as never;

describe("rows", () => {
  test("of an open cause follow it", () => {
    const rows = rowsOf([cause("a", ["a1", "a2"]), cause("b", ["b1"])], new Set(["a"]));
    expect(rows.map((row) => row.cause.key)).toEqual(["a", "a1", "a2", "b"]);
    expect(rows.map((row) => row.whole !== null)).toEqual([true, false, false, true]);
  });
  test("near the reader are made, and no others", () => {
    expect(visibleSpan(100, 800, 50, 10_000)).toEqual({ first: 0, end: 26 });
    expect(visibleSpan(-50_000, 800, 50, 10_000)).toEqual({ first: 988, end: 1028 });
    expect(visibleSpan(-50_000, 800, 50, 3)).toEqual({ first: 3, end: 3 });
  });
  test("that were loaded stay when the first are asked for anew", () => {
    const keys = (causes: readonly { key: string }[]) => causes.map((each) => each.key).join("");
    expect(keys(refreshed([cause("a"), cause("b"), cause("c")], [cause("b"), cause("d")], 2))).toBe("bdc");
    expect(keys(refreshed([cause("a"), cause("b"), cause("c")], [cause("b")], 2))).toBe("b");
  });
  test("that moved between two pages are shown once", () =>
    expect(joined([cause("a"), cause("b")], [cause("b"), cause("c")]).map((each) => each.key)).toEqual([
      "a",
      "b",
      "c",
    ]));
});

describe("server-sent events", () => {
  test("are taken whole, and what is cut waits", () => {
    const { events, rest } = takeEvents(
      'id: 1\nevent: report\ndata: {"a":1}\n\n: a comment\n\nid: 2\nevent: rep',
    );
    expect(events).toEqual([{ id: "1", type: "report", data: '{"a":1}' }]);
    expect(rest).toBe("id: 2\nevent: rep");
  });
  test("may have several lines of data", () =>
    expect(takeEvents("data: a\ndata:b\n\n").events[0]!.data).toBe("a\nb"));
});

describe("whether the fix worked", () => {
  const version = (name: string, rate: number, hours = 10) =>
    ({ app: "editor", version: name, hang_ms_per_hour: rate, watched_ms: hours * 3_600_000 }) as never;
  test.each([
    ["Not seen in 2.0, in 10 h of use.", [version("1.0", 100), version("2.0", 0)]],
    ["60 % less in 2.0 than in 1.0.", [version("1.0", 100), version("2.0", 40)]],
    ["50 % more in 2.0 than in 1.0.", [version("1.0", 100), version("2.0", 150)]],
    ["About the same in 2.0 as in 1.0.", [version("1.0", 100), version("2.0", 105)]],
    ["50 % more in 2.0 than in 1.0.", [version("1.0", 100), version("2.0", 150), version("3.0", 0, 0.1)]],
    ["No version was watched for an hour yet.", [version("1.0", 100, 0.5)]],
  ])("%s", (answer, versions) => expect(answerOf(versions)).toBe(answer));
});

test("a cause is new for a week, unless somebody said more of it", () => {
  const now = 30 * 86_400_000;
  expect(isNew({ state: "new", first_seen_ms: now - 86_400_000 }, now)).toBe(true);
  expect(isNew({ state: "new", first_seen_ms: now - 8 * 86_400_000 }, now)).toBe(false);
  expect(isNew({ state: "known", first_seen_ms: now }, now)).toBe(false);
});

test("hang rates have a line a version, with gaps", () => {
  const day = (version: string, at: number, all: number) =>
    ({ app: "a", version, day_ms: at, watched_ms: 1, hang_ms_per_hour: { all, p50: 0, p90: 0 } }) as never;
  const { daysMs, lines } = linesOf([day("1.10", 2, 5), day("1.9", 1, 7), day("1.9", 2, 8)], "all");
  expect(daysMs).toEqual([1, 2]);
  expect(lines.map((line) => [line.name, line.values])).toEqual([
    ["1.9", [7, 8]],
    ["1.10", [null, 5]],
  ]);
});

describe("a setting", () => {
  const range = { name: "threshold_ms", least: 16, most: 100 };
  test.each([
    ["", true],
    ["16", true],
    ["100", true],
    ["15", false],
    ["101", false],
    ["1e1", false],
    ["20.5", false],
    ["-20", false],
  ])("of '%s' is good: %s", (text, isGood) => expect(numberProblem(text, range) === null).toBe(isGood));
  test("without a value is not in the config", () => {
    expect(withValue({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
    expect(withValue({}, "allowlist", [])).toEqual({});
    expect(withValue({}, "user_rate_ppm", 0)).toEqual({ user_rate_ppm: 0 });
  });
  test("that this page does not know is shown all the same", () =>
    expect(
      settingsOf(["threshold_ms", "future_ms"]).flatMap((group) =>
        group.settings.map((setting) => setting.name),
      ),
    ).toEqual(["threshold_ms", "future_ms"]));
});
