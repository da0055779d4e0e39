// SPDX-License-Identifier: Apache-2.0
// Numbers that cannot be right, so that readers see which report not to trust. The collector refuses most of them when
// they arrive; older ones, and those of other stores, may still be there.

const kMsPerDay = 86_400_000;
const kLongestMs = 30 * kMsPerDay; // of a hang: what the collector takes
const kLongestOfAllMs = 3650 * kMsPerDay; // of anything else, such as a thread's CPU time
const kFirstMs = Date.UTC(2000, 0, 1);
const kLastDateMs = 8.64e15; // where JavaScript's dates end

// Whether a Date can have that time at all.
export const isDate = (wallMs: unknown): wallMs is number =>
  typeof wallMs === "number" && Math.abs(wallMs) <= kLastDateMs;

const isPlausibleTime = (wallMs: unknown, nowMs: number): boolean =>
  isDate(wallMs) && wallMs >= kFirstMs && wallMs <= nowMs + kMsPerDay;

const isPlausibleDuration = (ms: unknown, longestMs: number): boolean =>
  typeof ms === "number" && ms >= 0 && ms <= longestMs;

interface Header {
  readonly start_wall_ms: number;
  readonly duration_ms: number;
  readonly elapsed_ms: number;
}

// Names the implausible fields of a report's header; usually none.
export function oddHeader(report: Header, nowMs = Date.now()): string[] {
  return [
    ...(isPlausibleTime(report.start_wall_ms, nowMs) ? [] : ["its begin"]),
    ...(isPlausibleDuration(report.duration_ms, kLongestMs) ? [] : ["its duration"]),
    ...(isPlausibleDuration(report.elapsed_ms, kLongestMs) ? [] : ["its age when it was reported"]),
  ];
}

function isOddNumber(name: string, value: number, nowMs: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return true;
  if (name.endsWith("wall_ms") && value > kLongestOfAllMs) return !isPlausibleTime(value, nowMs);
  return name.endsWith("_ms") && !isPlausibleDuration(value, kLongestOfAllMs);
}

// The same of everything that a report has: names of its numbers, each once.
export function oddNumbers(report: Header, nowMs = Date.now()): string[] {
  const odd = new Set(oddHeader(report, nowMs));
  const waiting: [string, unknown][] = Object.entries(report);
  for (let entry = waiting.pop(); entry; entry = waiting.pop()) {
    const [name, value] = entry;
    if (typeof value === "number" && isOddNumber(name, value, nowMs)) odd.add(name.replaceAll("_", " "));
    // Frames have no times, and there may be 135,000 of them.
    if (typeof value !== "object" || value === null || name.endsWith("stack")) continue;
    if (Array.isArray(value)) for (const each of value) waiting.push([name, each]);
    else for (const each of Object.entries(value)) waiting.push(each);
  }
  return [...odd];
}
