// SPDX-License-Identifier: Apache-2.0
// A report as text.
import type { Report } from "../api/types";
import { place } from "../format/frames";
import { duration } from "../format/numbers";
import { isoMoment } from "../format/times";
import type { FlameFrame } from "../parts/flame_tree";
import { isOfCpu, isSlow } from "./report_times";

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
