// SPDX-License-Identifier: Apache-2.0
// Times in the reader's own zone.
import { isDate } from "./plausible";

// Stands for a time that no calendar has.
const kNoTime = "no valid time";

const kMoment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const kDay = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const kAgo = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const kSteps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

export const moment = (wallMs: number): string => (isDate(wallMs) ? kMoment.format(wallMs) : kNoTime);

// In the form of ISO 8601, in UTC.
export const isoMoment = (wallMs: number): string =>
  isDate(wallMs) ? new Date(wallMs).toISOString() : kNoTime;

// The collector's days are UTC's: their names are, too.
export const day = (beginMs: number): string => (isDate(beginMs) ? kDay.format(beginMs) : kNoTime);

export function ago(wallMs: number, nowMs = Date.now()): string {
  if (!isDate(wallMs)) return kNoTime;
  const elapsed = wallMs - nowMs;
  const step = kSteps.find(([, ms]) => Math.abs(elapsed) >= ms) ?? ["second", 1_000];
  return kAgo.format(Math.round(elapsed / step[1]), step[0]);
}
