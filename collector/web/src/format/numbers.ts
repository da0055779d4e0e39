// SPDX-License-Identifier: Apache-2.0
// Numbers with their units, as short as a reader can compare them.

const kNone = "–";

const kMostShown = 1e15; // larger numbers are shown as powers of ten

function withDigits(value: number, digits: number): string {
  if (Math.abs(value) >= kMostShown) return value.toExponential(1);
  return value.toLocaleString(undefined, { maximumFractionDigits: digits, minimumFractionDigits: 0 });
}

// Three digits that count.
function threeDigits(value: number): string {
  const size = Math.abs(value);
  return withDigits(value, size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return kNone;
  const size = Math.abs(ms);
  if (size === 0) return "0 ms";
  if (size < 1) return `${threeDigits(ms * 1000)} µs`;
  if (size < 999.5) return `${threeDigits(ms)} ms`;
  const s = ms / 1000;
  if (size < 120_000) return `${threeDigits(s)} s`;
  if (size < 7_200_000) return `${threeDigits(s / 60)} min`;
  if (size < 172_800_000) return `${threeDigits(s / 3600)} h`;
  return `${threeDigits(s / 86_400)} d`;
}

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return kNone;
  if (Math.abs(value) >= kMostShown) return value.toExponential(1);
  if (Math.abs(value) < 10_000) return withDigits(value, Number.isInteger(value) ? 0 : 1);
  return value.toLocaleString(undefined, { notation: "compact", maximumFractionDigits: 1 });
}

// An estimated number of things: never a part of one.
export function estimate(value: number): string {
  return count(value > 0 ? Math.max(1, Math.round(value)) : value);
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return kNone;
  const value = share * 100;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${withDigits(value, value < 10 ? 1 : 0)} %`;
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return kNone;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; Math.abs(value) >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${threeDigits(value)} ${units[unit]}`;
}

// The hang time per hour of use.
export function rate(msPerHour: number | null | undefined): string {
  return msPerHour === null || msPerHour === undefined ? kNone : `${duration(msPerHour)}/h`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

// "a, b and 312 others", of which the first are named.
export function named(names: readonly string[], more: number, shown = 10): string {
  const others = names.length - Math.min(names.length, shown) + more;
  const first = names.slice(0, shown).join(", ");
  return others > 0 ? `${first} and ${count(others)} ${others === 1 ? "other" : "others"}` : first;
}
