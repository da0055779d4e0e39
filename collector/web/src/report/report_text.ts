// SPDX-License-Identifier: Apache-2.0
// A report as text.
import type { Report, Wait } from "../api/types";
import { place, shortName } from "../format/frames";
import { duration } from "../format/numbers";
import { isoMoment } from "../format/times";
import type { FlameFrame } from "../parts/flame_tree";
import { isOfCpu, isOfFiles, isSlow } from "./report_times";

const frameLine = (frame: FlameFrame & { offset?: string }): string => {
  const line = place({ file: frame.file ?? null, line: frame.line ?? null });
  return `    ${frame.function}${line ? ` (${line})` : ""}`;
};

// The event, in a few words.
export function whatHappened(report: Report): string {
  if (report.kind === "dump") return "was examined";
  if (isOfCpu(report))
    return `used the processor for ${duration(report.cpu.process_ms)} in ${duration(report.cpu.window_ms)}`;
  if (isOfFiles(report)) return `used files for ${duration(report.duration_ms)}`;
  if (isSlow(report)) return `was slow for ${duration(report.duration_ms)}`;
  return `froze for ${duration(report.duration_ms)}${report.ended ? "" : " or longer"}`;
}

// A dispatch that is called by the wait that it came from, where the program itself gives it no name.
export const isWait = (tag: string): boolean => /^(epoll_p?wait2?|p?poll|p?select6?|io_\w+)$/.test(tag);

// The program's own function that says most, or else the innermost one.
export function guilty(report: Report): string {
  return report.expensive_stack.find((frame) => frame.own)?.function ?? report.cause[0] ?? "";
}

const kHeadlineOf = (report: Report): [string, string] | null => {
  if (report.kind === "dump" || isOfCpu(report)) return null;
  if (isOfFiles(report)) return [" used files in ", ` for ${duration(report.duration_ms)}`];
  const lasted = `for ${duration(report.duration_ms)}${isSlow(report) || report.ended ? "" : " or longer"}`;
  return isSlow(report) ? [" made ", ` slow ${lasted}`] : [" froze ", ` ${lasted}`];
};

// The parts of "`price` froze shop 2.4.0 for 3.4 s": the function, and the rest.
export function headline(report: Report): { function: string; rest: string } {
  const program = [report.app, report.version].filter(Boolean).join(" ");
  const words = kHeadlineOf(report);
  const name = guilty(report);
  if (!words || name === "") return { function: "", rest: `${program} ${whatHappened(report)}` };
  return { function: shortName(name), rest: `${words[0]}${program}${words[1]}` };
}

// The link between a wait and its owner: "held by", or that of another process's answer or end.
export function ownerWord(wait: Wait): string {
  if (wait.kind === "once") return "run by";
  if (!wait.owner?.process || wait.kind === "mutex" || wait.kind === "file-lock") return "held by";
  return wait.kind === "child" ? "whose process is" : "to be answered by";
}

function ownerText(wait: Wait): string {
  const { owner } = wait;
  if (!owner) return "";
  const process = owner.process ? `process ${owner.process.name} (${owner.process.pid}), ` : "";
  return ` ${ownerWord(wait)} ${process}thread ${owner.tid} (${owner.name})${owner.at ? ` at ${owner.at}` : ""}`;
}

// The report as text, to paste into a tracker.
export function asText(report: Report, address: string): string {
  const { verdict } = report;
  const waits = report.waits.map(
    (wait) =>
      `  thread ${wait.tid} (${wait.name}) waits${wait.at ? ` at ${wait.at}` : ""} for ${wait.kind} ${wait.lock}` +
      ownerText(wait),
  );
  return [
    `${headline(report).function}${headline(report).rest}`,
    `  ${report.tag && !isWait(report.tag) ? `in "${report.tag}" ` : ""}${report.loop ? `on loop ${report.loop}, ` : ""}${isoMoment(report.start_wall_ms)}, ${report.os} ${report.machine}`,
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
