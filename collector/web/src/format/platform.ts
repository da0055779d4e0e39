// SPDX-License-Identifier: Apache-2.0
// The platform that a report comes from, by its kernel or system and its machine.

interface System {
  readonly os: string;
  readonly machine: string;
}

const byOs: [RegExp, string][] = [
  [/^Android\b|-android\d*-|-android\d*$/, "Android"],
  [/^iPadOS\b/, "iPadOS"],
  [/^iOS\b/, "iOS"],
  [/^(macOS|Mac OS X)\b/, "macOS"],
  [/^Windows\b/, "Windows"],
  [/^Linux\b/, "Linux"],
];

// Darwin's name of a machine is its model.
const byModel: [RegExp, string][] = [
  [/^(iPhone|iPod)/, "iOS"],
  [/^iPad/, "iPadOS"],
  [/^AppleTV/, "tvOS"],
  [/^Watch/, "watchOS"],
  [/./, "macOS"],
];

// Empty if it is not known.
export function platform({ os, machine }: System): string {
  const names = os.startsWith("Darwin") ? byModel : byOs;
  const text = os.startsWith("Darwin") ? machine : os;
  return names.find(([pattern]) => pattern.test(text))?.[1] ?? "";
}

// The platform, or nothing if the system's name begins with it.
export function hiddenPlatform(system: System): string {
  const name = platform(system);
  return system.os.startsWith(name) ? "" : name;
}

// "Android, Linux 5.10.43-android12-9 aarch64"; "Linux 6.1.0 x86_64".
export function systemText(system: System): string {
  return [hiddenPlatform(system), `${system.os} ${system.machine}`].filter(Boolean).join(", ");
}

const kinds: [RegExp, string][] = [
  [/^(iPhone|iPod)/, "phone"],
  [/^iPad/, "tablet"],
  [/^AppleTV/, "TV"],
  [/^Watch/, "watch"],
  [/^Mac/, "computer"],
];

// The device's model with its kind, as far as they are known: "iPhone14,2 (phone)".
export function deviceText(model: string): string {
  const kind = kinds.find(([pattern]) => pattern.test(model))?.[1];
  return kind === undefined ? model : `${model} (${kind})`;
}
