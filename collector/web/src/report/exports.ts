// SPDX-License-Identifier: Apache-2.0
// A report in the formats of other tools.
import type { Report } from "../api/types";
import { place } from "../format/frames";
import { duration } from "../format/numbers";
import { isoMoment } from "../format/times";
import type { FlameFrame, TimedStack } from "../parts/flame_tree";
import { isOfCpu, isSlow, timedStacks } from "./report_times";

// Brendan Gregg's collapsed stacks: outermost first, with the microseconds of each.
export function collapsed(stacks: readonly TimedStack[]): string {
  const sums = new Map<string, number>();
  for (const { frames, ms } of stacks) {
    if (frames.length === 0 || !(ms > 0)) continue;
    const line = [...frames]
      .reverse()
      .map((frame) => frame.function.replace(/[;\r\n]/g, ":"))
      .join(";");
    sums.set(line, (sums.get(line) ?? 0) + Math.round(ms * 1000));
  }
  return [...sums].map(([line, us]) => `${line} ${us}\n`).join("");
}

// https://www.speedscope.app/file-format-schema.json
export function speedscope(name: string, stacks: readonly TimedStack[]): object {
  const frames: object[] = [];
  const indices = new Map<string, number>();
  const indexOf = (frame: FlameFrame): number => {
    const key = `${frame.module}\n${frame.function}\n${frame.file ?? ""}\n${frame.line ?? ""}`;
    let index = indices.get(key);
    if (index === undefined) {
      index = frames.length;
      indices.set(key, index);
      frames.push({
        name: frame.function,
        ...(frame.file ? { file: frame.file } : {}),
        ...(frame.file && frame.line ? { line: frame.line } : {}),
      });
    }
    return index;
  };
  const samples = stacks.map((stack) => [...stack.frames].reverse().map(indexOf));
  const weights = stacks.map((stack) => Math.max(0, stack.ms));
  const endValue = weights.reduce((sum, weight) => sum + weight, 0);
  return {
    $schema: "https://www.speedscope.app/file-format-schema.json",
    name,
    exporter: "lagwatch",
    shared: { frames },
    profiles: [{ type: "sampled", name, unit: "milliseconds", startValue: 0, endValue, samples, weights }],
  };
}

const frameLine = (frame: FlameFrame & { offset?: string }): string => {
  const line = place({ file: frame.file ?? null, line: frame.line ?? null });
  return `    ${frame.function}${line ? ` (${line})` : ""}`;
};

// The event, in a few words.
export function whatHappened(report: Report): string {
  if (report.kind === "dump") return "was examined";
  if (isOfCpu(report))
    return `used the processor for ${duration(report.cpu.process_ms)} in ${duration(report.cpu.window_ms)}`;
  if (isSlow(report)) return `was slow for ${duration(report.duration_ms)}`;
  return `froze for ${duration(report.duration_ms)}${report.ended ? "" : " or longer"}`;
}

// The report as text, to paste into a tracker.
export function asText(report: Report, address: string): string {
  const { verdict } = report;
  const waits = report.waits.map(
    (wait) =>
      `  thread ${wait.tid} (${wait.name}) waits${wait.at ? ` at ${wait.at}` : ""} for ${wait.kind} ${wait.lock}` +
      (wait.owner
        ? ` held by thread ${wait.owner.tid} (${wait.owner.name})${wait.owner.at ? ` at ${wait.owner.at}` : ""}`
        : ""),
  );
  return [
    `${report.app} ${report.version} ${whatHappened(report)}`,
    `  ${report.tag ? `in "${report.tag}" ` : ""}${report.loop ? `on loop ${report.loop}, ` : ""}${isoMoment(report.start_wall_ms)}, ${report.os} ${report.machine}`,
    `  verdict: ${verdict.word}`,
    `  cause: ${report.cause.join(" < ")}`,
    `  ${address}`,
    ...(waits.length > 0 ? ["", "Wait chain", ...waits, ...(report.deadlock ? ["  deadlock"] : [])] : []),
    "",
    "Most expensive stack",
    ...report.expensive_stack.map(frameLine),
    "",
  ].join("\n");
}

export const reportCollapsed = (report: Report): string => collapsed(timedStacks(report));
export const reportSpeedscope = (report: Report): string =>
  JSON.stringify(
    speedscope(`${report.app} ${report.version}: ${report.cause[0] ?? report.id}`, timedStacks(report)),
  );
