// SPDX-License-Identifier: Apache-2.0
// The machine and the modules of a report.
import type { Report } from "../api/types";
import { bytes, count, duration, percent, plural } from "../format/numbers";
import { deviceText, hiddenPlatform } from "../format/platform";
import { moment } from "../format/times";
import { exitText } from "../parts/exits";
import { Table } from "../parts/table";

interface ModuleUse {
  readonly path: string;
  readonly buildId: string;
  frames: number;
  named: number;
}

export function modulesOf(report: Report): ModuleUse[] {
  const modules = new Map<string, ModuleUse>();
  const stacks = [
    report.expensive_stack,
    ...report.samples.map((sample) => sample.stack),
    ...report.threads.map((thread) => thread.stack),
  ];
  for (const frame of stacks.flat()) {
    if (frame.module === "") continue;
    const key = `${frame.build_id}\n${frame.module}`;
    const use = modules.get(key) ?? { path: frame.module, buildId: frame.build_id, frames: 0, named: 0 };
    modules.set(key, use);
    ++use.frames;
    if (!frame.function.includes("+0x")) ++use.named;
  }
  return [...modules.values()].sort((a, b) => b.frames - a.frames);
}

const kFactWords: Readonly<Record<string, string>> = {
  rss_bytes: "memory in use (RSS)",
  swap_bytes: "memory that was swapped out",
  open_fds: "open files",
  open_fds_limit: "open files, at most",
  cores: "processors",
  cpu_pressure_permille: "time in which threads waited for a processor",
  io_pressure_permille: "time in which threads waited for a disk",
  io_full_pressure_permille: "time in which all threads waited for a disk",
  memory_pressure_permille: "time in which threads waited for memory",
  memory_full_pressure_permille: "time in which all threads waited for memory",
  processors_stolen_permille: "processors' time taken by the virtual machine's host",
  processors_unseen_permille: "processors' time of users that were not seen",
  processor_users: "users of the processors meanwhile",
  capture_pause_us: "pause for the capture",
  watchdog_late_ms: "delay of the watchdog",
  found_asleep_ms: "time asleep when it was found",
  lasted_at_least: "the begin was not seen (1)",
};

// A fact's name in words, without its unit.
export function factName(name: string): string {
  const known = kFactWords[name];
  if (known !== undefined) return known;
  const load = /^load_(\d+)_permille$/.exec(name);
  if (load) return `load over ${load[1]} min`;
  return name
    .replace(/_(permille|percent|bytes|us|ms)$/, "")
    .replace(/^cgroup_/, "control group: ")
    .replaceAll("_", " ");
}

// A fact's name ends with its unit.
export function factText(name: string, value: number | string): string {
  if (typeof value === "string") return value;
  if (name.endsWith("_bytes")) return bytes(value);
  if (name.endsWith("_us")) return duration(value / 1000);
  if (name.endsWith("_ms")) return duration(value);
  if (name.startsWith("load_") && name.endsWith("_permille")) return (value / 1000).toFixed(2);
  if (name.endsWith("_permille")) return percent(value / 1000);
  if (name.endsWith("_percent")) return percent(value / 100);
  return count(value);
}

export function Modules({ report }: { report: Report }) {
  const modules = modulesOf(report);
  if (modules.length === 0) return null;
  return (
    <section class="card">
      <h2>Modules ({modules.length})</h2>
      <Table
        label="Modules"
        columns={["Module", "Build id", { number: "Frames" }, { number: "Named frames" }]}
      >
        {modules.map((each) => (
          <tr key={each.path + each.buildId}>
            <td class="mono">{each.path}</td>
            <td class="mono muted">{each.buildId || "none"}</td>
            <td class="number">{count(each.frames)}</td>
            <td class="number">{percent(each.named / each.frames)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

// Programs for phones and tablets know their device; Darwin names it as the machine.
function device(report: Report): [string, string][] {
  const model = report.facts["app.device"] ?? (report.os.startsWith("Darwin") ? report.machine : "");
  return model ? [["Device", deviceText(String(model))]] : [];
}

export function Context({ report }: { report: Report }) {
  const known: [string, string][] = [
    ["Report", report.id],
    ["Program", `${report.app} ${report.version}`],
    ["User", report.user || "not named"],
    [
      "System",
      [hiddenPlatform(report), report.distribution, report.os, report.machine].filter(Boolean).join(", "),
    ],
    ...device(report),
    ["Process, thread", `${report.pid}, ${report.tid}`],
    ["Session", report.session_id],
    ["Hang", `${report.hang_id}, report ${report.ordinal + 1} of it`],
    ["Began", moment(report.start_wall_ms)],
    ["Threshold", duration(report.threshold_ms)],
    ["Run ended", report.exit ? exitText(report.exit) : "not reported yet"],
    [
      "Stands for",
      report.sample_rate_ppm
        ? `one of ${plural(Math.round(1e6 / report.sample_rate_ppm), "report")} (${percent(report.sample_rate_ppm / 1e6)} of users send)`
        : "one report (all users send)",
    ],
    ...Object.entries(report.facts)
      .filter(([name]) => !name.startsWith("waits_for") && name !== "app.device")
      .map(([name, value]): [string, string] => [factName(name), factText(name, value)]),
  ];
  return (
    <section class="card">
      <h2>Context</h2>
      <dl class="context">
        {known.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="mono">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
