// SPDX-License-Identifier: Apache-2.0
// Times in the reader's own zone.

const kMoment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const kDay = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const kAgo = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const kSteps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

export const moment = (wallMs: number): string => kMoment.format(wallMs);

// The collector's days are UTC's: their names are, too.
export const day = (beginMs: number): string => kDay.format(beginMs);

export function ago(wallMs: number, nowMs = Date.now()): string {
  const elapsed = wallMs - nowMs;
  const step = kSteps.find(([, ms]) => Math.abs(elapsed) >= ms) ?? ["second", 1_000];
  return kAgo.format(Math.round(elapsed / step[1]), step[0]);
}
