// SPDX-License-Identifier: Apache-2.0
// A report's moments on one scale: milliseconds from the hang's beginning.
import type { Report } from "../api/types";
import type { TimedStack } from "../parts/flame_tree";

// About the process and what it computes: nothing hung.
export const isOfCpu = (report: Pick<Report, "kind">): boolean =>
  report.kind === "cpu" || report.kind === "cpu-average";

// One dispatch that was slow, but no hang: its samples are a tree of calls with their times.
export const isSlow = (report: Pick<Report, "kind">): boolean => report.kind === "slow";

// One dispatch that used files for too long.
export const isOfFiles = (report: Pick<Report, "kind">): boolean => report.kind === "io";

// A dump is not a hang either: it was requested.
export const hasLag = (report: Pick<Report, "kind">): boolean =>
  !isOfCpu(report) && !isOfFiles(report) && !isSlow(report) && report.kind !== "dump";

export interface Timeline {
  readonly fromMs: number;
  readonly toMs: number;
  readonly hangMs: number;
  readonly reportedMs: number;
  readonly dispatches: readonly {
    readonly tag: string;
    readonly fromMs: number;
    readonly wallMs: number;
    readonly cpuMs: number;
    readonly queueWaitMs: number;
  }[];
  readonly samples: readonly { readonly atMs: number; readonly untilMs: number; readonly index: number }[];
}

const kSlackMs = 1; // of clocks that were read one after the other

// The most room that the time before the hang gets, however long it is.
const kShareBefore = 0.35;

export function timelineOf(report: Report): Timeline {
  const reportedMs = report.elapsed_ms;
  const hangMs = Math.max(report.duration_ms, reportedMs);
  // The dispatch that hung may be among them: it began with the hang, and is not one before it.
  const dispatches = report.history
    .map((each) => ({
      tag: each.tag,
      fromMs: reportedMs - each.age_ms - each.wall_ms, // the age is that of its end
      wallMs: each.wall_ms,
      cpuMs: each.cpu_ms,
      queueWaitMs: each.queue_wait_ms,
    }))
    .filter((each) => report.kind === "busy-loop" || each.fromMs < -kSlackMs);
  const samples = report.samples.map((sample, index) => {
    const next = report.samples[index + 1];
    return { atMs: reportedMs - sample.age_ms, untilMs: reportedMs - (next ? next.age_ms : 0), index };
  });
  const earliest = [...dispatches.map((each) => each.fromMs), ...samples.map((each) => each.atMs)].reduce(
    (first, each) => Math.min(first, each),
    0,
  );
  return {
    fromMs: Math.max(earliest, -Math.max(hangMs * kShareBefore, 1)),
    toMs: hangMs,
    hangMs,
    reportedMs,
    dispatches,
    samples,
  };
}

// A sample stands for the time until the next one; the last for the time until the report was made. For reports about
// the processor's use, it stands for the CPU time used there; for a slow dispatch, for the time spent there.
export function timedStacks(report: Report): TimedStack[] {
  const stacks = report.samples.map((sample, index) => {
    const next = report.samples[index + 1];
    return {
      frames: sample.stack,
      ms: isSlow(report)
        ? (sample.wall_ms ?? 0)
        : isOfCpu(report)
          ? sample.cpu_ms
          : sample.age_ms - (next ? next.age_ms : 0),
    };
  });
  if (stacks.some((stack) => stack.ms > 0 && stack.frames.length > 0)) return stacks;
  return [{ frames: report.expensive_stack, ms: Math.max(report.elapsed_ms, 1) }];
}
