// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the reader's system is.
import { signal } from "@preact/signals";

const kKept = "lagwatch.theme";
const kThemes = ["system", "light", "dark"] as const;
export type Theme = (typeof kThemes)[number];

export const theme = signal<Theme>("system");
// Charts have no style sheet: they are drawn again when this changes.
export const isDark = signal(false);

function apply(): void {
  document.documentElement.dataset["theme"] = theme.value;
  isDark.value =
    theme.value === "dark" ||
    (theme.value === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function startTheme(): void {
  const kept = localStorage.getItem(kKept) as Theme | null;
  if (kept !== null && kThemes.includes(kept)) theme.value = kept;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}

export function nextTheme(): void {
  theme.value = kThemes[(kThemes.indexOf(theme.value) + 1) % kThemes.length]!;
  localStorage.setItem(kKept, theme.value);
  apply();
}

// A variable's colour as a canvas takes it: what `light-dark()` comes to here.
export function cssColor(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
