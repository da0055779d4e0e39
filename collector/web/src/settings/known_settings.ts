// SPDX-License-Identifier: Apache-2.0
// The meanings of the config's numbers, grouped by subject. Ranges come from the collector.
import { bytes, duration, percent } from "../format/numbers";

export interface KnownSetting {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly whenUnset: string;
  readonly help: string;
  readonly says?: (value: number) => string; // the same in other words
}

export const kKnownSettings: readonly {
  readonly group: string;
  readonly settings: readonly KnownSetting[];
}[] = [
  {
    group: "Sampling and quotas",
    settings: [
      {
        name: "user_rate_ppm",
        label: "Users who report on a day",
        unit: "of a million",
        whenUnset: "50,000",
        help: "Different ones each day.",
        says: (value) => percent(value / 1e6),
      },
      {
        name: "sampling_salt",
        label: "Sampling salt",
        unit: "",
        whenUnset: "0",
        help: "A different salt selects different users.",
      },
      {
        name: "reports_per_day",
        label: "Reports per user and day",
        unit: "reports",
        whenUnset: "20",
        help: "",
      },
      {
        name: "reports_per_cluster",
        label: "Of these, per cause",
        unit: "reports",
        whenUnset: "3",
        help: "",
      },
      {
        name: "slow_reports_per_day",
        label: "Reports of slow dispatches per user and day",
        unit: "reports",
        whenUnset: "5",
        help: "For programs that report them.",
      },
      {
        name: "retention_hours",
        label: "Unsent reports are kept for",
        unit: "hours",
        whenUnset: "168",
        help: "",
        says: (value) => duration(value * 3_600_000),
      },
      {
        name: "retention_mib",
        label: "Limit of unsent reports",
        unit: "MiB",
        whenUnset: "64",
        help: "",
        says: (value) => bytes(value * 1048576),
      },
    ],
  },
  {
    group: "Thresholds (from a program's next start on)",
    settings: [
      {
        name: "threshold_ms",
        label: "A dispatch is a hang after",
        unit: "ms",
        whenUnset: "the program's",
        help: "",
        says: duration,
      },
      {
        name: "anr_threshold_ms",
        label: "A hang is an ANR after",
        unit: "ms",
        whenUnset: "the program's",
        help: "0: off.",
        says: duration,
      },
      {
        name: "check_period_ms",
        label: "Time between two checks of a hang",
        unit: "ms",
        whenUnset: "the program's",
        help: "",
        says: duration,
      },
      {
        name: "sample_interval_ms",
        label: "Time between two samples of a busy loop",
        unit: "ms",
        whenUnset: "the program's",
        help: "",
        says: duration,
      },
    ],
  },
];

const kNamed = new Set(kKnownSettings.flatMap((group) => group.settings.map((setting) => setting.name)));

// A newer collector may have numbers that this page has no words for.
export function settingsOf(names: readonly string[]): typeof kKnownSettings {
  const there = new Set(names);
  const others = names
    .filter((name) => !kNamed.has(name))
    .map((name): KnownSetting => ({ name, label: name, unit: "", whenUnset: "the program's", help: "" }));
  const known = kKnownSettings.map(({ group, settings }) => ({
    group,
    settings: settings.filter((setting) => there.has(setting.name)),
  }));
  return others.length > 0 ? [...known, { group: "Others", settings: others }] : known;
}
