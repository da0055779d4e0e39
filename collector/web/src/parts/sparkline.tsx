// SPDX-License-Identifier: Apache-2.0
import { duration, plural } from "../format/numbers";

const kMsPerDay = 86_400_000;
const kHeight = 24;
const kStep = 5;

export interface Day {
  readonly begin_ms: number;
  readonly hang_ms: number;
}

// A bar for each of the last `days` days up to `lastMs`.
export function Sparkline({ days, shown, lastMs }: { days: readonly Day[]; shown: number; lastMs: number }) {
  const last = Math.floor(lastMs / kMsPerDay);
  const byDay = new Map(days.map((each) => [Math.round(each.begin_ms / kMsPerDay), each.hang_ms]));
  const values = Array.from({ length: shown }, (_, i) => byDay.get(last - shown + 1 + i) ?? 0);
  const most = Math.max(...values, 1e-9);
  const bars = values.map((value, i) => {
    const height = value > 0 ? Math.max(1.5, (value / most) * kHeight) : 0;
    return `M${i * kStep} ${kHeight}v${-height.toFixed(1)}h4V${kHeight}z`;
  });
  const width = shown * kStep;
  const withHangs = values.filter((value) => value > 0).length;
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${kHeight}`}
      width={width}
      height={kHeight}
      role="img"
      aria-label={`${plural(withHangs, "day")} of the last ${shown} with it, ${duration(most)} on the worst`}
    >
      <path d={`M0 ${kHeight - 0.5}h${width}`} class="base" />
      <path d={bars.join("")} class="bars" />
    </svg>
  );
}
