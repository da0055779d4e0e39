// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { takeEvents } from "../../../../collector/web/src/api/live";
import { joined, refreshed, sunk } from "../../../../collector/web/src/causes/cause_list";
import { rowsOf } from "../../../../collector/web/src/causes/cause_rows";
import { intervalText } from "../../../../collector/web/src/cause/versions";
import { daySplits } from "../../../../collector/web/src/parts/chart";
import { isRecent } from "../../../../collector/web/src/parts/state_mark";
import { visibleSpan } from "../../../../collector/web/src/parts/window_rows";
import { durationName, heatOf, heatRows } from "../../../../collector/web/src/rate/heat";
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

test("an interval is two ends, and none where nothing was watched", () => {
  expect(intervalText({ low: 151.2, high: 548 })).toBe("151 ms to 548 ms");
  expect(intervalText(null)).toBe("–");
});

test("a cause is recent for a week", () => {
  const now = 30 * 86_400_000;
  expect(isRecent({ first_seen_ms: now - 86_400_000 }, now)).toBe(true);
  expect(isRecent({ first_seen_ms: now - 8 * 86_400_000 }, now)).toBe(false);
});

test("causes that the newest version does not have come last", () => {
  const gone = (key: string, since: string | null) => ({ key, not_seen_since: since }) as never;
  const keys = sunk([gone("a", "1.0"), gone("b", null), gone("c", "1.1"), gone("d", null)]).map(
    (each) => each.key,
  );
  expect(keys).toEqual(["b", "d", "a", "c"]);
});

describe("days on an axis", () => {
  const days = (count: number) => Array.from({ length: count }, (_, i) => i * 86_400_000);
  test("one alone has its date", () => expect(daySplits(days(1), 400)).toEqual([0]));
  test("have dates as far as there is room, the last one always", () => {
    expect(daySplits(days(3), 1000)).toHaveLength(3);
    const splits = daySplits(days(30), 400);
    expect(splits.length).toBeLessThanOrEqual(6);
    expect(splits[splits.length - 1]).toBe(29 * 86_400);
  });
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

describe("the heat map", () => {
  const hour = (hour_ms: number, watched_ms: number, durations: [number, number][]) => ({
    app: "editor",
    hour_ms,
    watched_ms,
    dispatches: 0,
    durations: durations.map(([from_ms, count]) => ({ from_ms, count })),
  });
  const ofUtc = (wallMs: number) => new Date(wallMs).getUTCHours();
  test("has dispatches in an hour of use, of all days together", () => {
    const day = 86_400_000;
    const rows = heatRows(
      [
        hour(day + 9 * 3_600_000, 7_200_000, [
          [0, 100],
          [2, 1],
        ]),
        hour(2 * day + 9 * 3_600_000, 1_800_000, [[0, 50]]),
        hour(2 * day + 10 * 3_600_000, 3_600_000, []),
      ],
      ofUtc,
    );
    expect(rows.map((row) => row.fromMs)).toEqual([0, 1, 2]);
    expect(rows[0]!.perHour[9]).toBe(60);
    expect(rows[1]!.perHour[9]).toBe(0);
    expect(rows[2]!.perHour[9]).toBe(0.4);
    expect(rows[0]!.perHour[10]).toBe(0);
    expect(rows[0]!.perHour[11]).toBe(null);
  });
  test("is empty without dispatches", () => expect(heatRows([hour(0, 1, [])], ofUtc)).toEqual([]));
  test("grows with the logarithm", () => {
    expect(heatOf(0, 1, 10_000)).toBe(0);
    expect(heatOf(null, 1, 10_000)).toBe(0);
    expect(heatOf(1, 1, 10_000)).toBeCloseTo(0.08);
    expect(heatOf(100, 1, 10_000)).toBeCloseTo(0.54);
    expect(heatOf(10_000, 1, 10_000)).toBeCloseTo(1);
    expect(heatOf(3, 3, 3)).toBe(1);
  });
  test("names durations by their least", () =>
    expect([0, 1, 512, 1024, 16_384].map(durationName)).toEqual([
      "below 1 ms",
      "1 ms",
      "512 ms",
      "1 s",
      "16 s",
    ]));
});
