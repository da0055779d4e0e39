// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the reader's system is.
import { signal } from "@preact/signals";

const kKept = "lagwatch.theme";
const kThemes = ["system", "light", "dark"] as const;
export type Theme = (typeof kThemes)[number];

const kept = localStorage.getItem(kKept) as Theme | null;
export const theme = signal<Theme>(kept !== null && kThemes.includes(kept) ? kept : "system");

// What charts draw with has no style sheet: they are drawn anew when this changes.
export const isDark = signal(false);
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
  isDark.value = theme.value === "dark" || (theme.value === "system" && systemIsDark.matches);
}
systemIsDark.addEventListener("change", applyTheme);

export function nextTheme(): void {
  theme.value = kThemes[(kThemes.indexOf(theme.value) + 1) % kThemes.length]!;
  localStorage.setItem(kKept, theme.value);
  applyTheme();
}

export const cssColor = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
