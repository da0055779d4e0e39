// SPDX-License-Identifier: Apache-2.0
// Dispatches by duration and time of day.
import type { HourUsage } from "../api/types";

export const kHours = 24;
const kMsPerHour = 3_600_000;

export interface HeatRow {
  readonly fromMs: number; // the shortest duration of the row; the next row's begins where it ends
  readonly perHour: readonly (number | null)[]; // dispatches in an hour of use, by time of day; null: no use
}

// Rows from the shortest duration that occurred to the longest. `hourOf` gives the time of day.
export function heatRows(
  hours: readonly HourUsage[],
  hourOf = (wallMs: number): number => new Date(wallMs).getHours(),
): HeatRow[] {
  const watchedMs = new Array<number>(kHours).fill(0);
  const counts = new Map<number, number[]>();
  for (const each of hours) {
    const hour = hourOf(each.hour_ms);
    watchedMs[hour]! += each.watched_ms;
    for (const { from_ms, count } of each.durations) {
      const row = counts.get(from_ms) ?? new Array<number>(kHours).fill(0);
      row[hour]! += count;
      counts.set(from_ms, row);
    }
  }
  if (counts.size === 0) return [];
  const rows: HeatRow[] = [];
  const [least, most] = [Math.min(...counts.keys()), Math.max(...counts.keys())];
  for (let fromMs = least; fromMs <= most; fromMs = fromMs === 0 ? 1 : 2 * fromMs) {
    const row = counts.get(fromMs);
    rows.push({
      fromMs,
      perHour: watchedMs.map((ms, hour) => (ms > 0 ? ((row?.[hour] ?? 0) * kMsPerHour) / ms : null)),
    });
  }
  return rows;
}

// Durations double from row to row: the first of a second is from 1,024 ms on.
export const durationName = (fromMs: number): string =>
  fromMs === 0 ? "below 1 ms" : fromMs < 1024 ? `${fromMs} ms` : `${fromMs / 1024} s`;

// From 0 (none) to 1 (the most), by the logarithm: short dispatches are thousands of times as frequent as long ones.
export function heatOf(perHour: number | null, least: number, most: number): number {
  if (perHour === null || perHour <= 0) return 0;
  if (most <= least) return 1;
  return 0.08 + (0.92 * Math.log(perHour / least)) / Math.log(most / least);
}
