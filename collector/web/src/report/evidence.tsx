// SPDX-License-Identifier: Apache-2.0
// The numbers that the verdict stands on.
import type { Report } from "../api/types";
import { count, duration, percent } from "../format/numbers";
import { verdictColor } from "../parts/verdict";
import { kTimeShares } from "../parts/verdict_words";

// The parts of the looked-at time, the largest first, each with the verdict that it speaks for.
function partsOf({ verdict }: Report): [string, string, number][] {
  return kTimeShares
    .map(([what, word, member]): [string, string, number] => [what, word, verdict[member]])
    .filter(([, , ms]) => ms > 0)
    .sort(([, , a], [, , b]) => b - a);
}

// "sleep (pid 4711), one of 2"; null where nothing is named.
export function waitsFor({ facts }: Report): string | null {
  if (facts.bus_service !== undefined) return `${facts.bus_service}, method ${facts.bus_method}, over D-Bus`;
  if (facts.waits_for === undefined) return null;
  const process =
    facts.waits_for_pid === undefined
      ? null
      : `${facts.waits_for_name ?? "a process"} (pid ${facts.waits_for_pid})`;
  const others = facts.waits_for_count === undefined ? null : `one of ${facts.waits_for_count}`;
  return [process, others, facts.waits_for_address].filter(Boolean).join(", ");
}

export function Evidence({ report }: { report: Report }) {
  const { verdict, guard } = report;
  const { use } = verdict;
  const whom = waitsFor(report);
  const others = [
    guard.suspended_ms > 0 && `the machine slept ${duration(guard.suspended_ms)}`,
    guard.stopped_ms > 0 && `the process was stopped ${duration(guard.stopped_ms)}`,
    guard.debugger_pid > 0 && `a debugger (${guard.debugger_pid}) was there`,
  ].filter(Boolean);
  return (
    <>
      <p class="muted small">Activity of the thread in the {duration(verdict.wall_ms)} examined</p>
      <table class="evidence">
        <tbody>
          {partsOf(report).map(([what, word, ms]) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td class="part">
                <div class="bar">
                  <i
                    style={{
                      width: `${(100 * ms) / Math.max(verdict.wall_ms, 1e-9)}%`,
                      background: verdictColor(word),
                    }}
                  />
                </div>
              </td>
              <td class="number">{duration(ms)}</td>
              <td class="number">{verdict.wall_ms > 0 ? percent(ms / verdict.wall_ms) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <dl class="facts">
        {whom !== null && (
          <div>
            <dt>Waits for</dt>
            <dd>{whom}</dd>
          </div>
        )}
        <div>
          <dt>CPU time</dt>
          <dd>{duration(use.cpu_ms)}</dd>
        </div>
        <div>
          <dt>Page faults</dt>
          <dd>
            {count(use.minor_faults)} minor, {count(use.major_faults)} major
          </dd>
        </div>
        <div>
          <dt>Context switches</dt>
          <dd>
            {count(use.voluntary_switches)} voluntary, {count(use.involuntary_switches)} not
          </dd>
        </div>
        <div>
          <dt>Whole process</dt>
          <dd>
            {duration(report.cpu.process_ms)} CPU in {duration(report.cpu.window_ms)}
          </dd>
        </div>
      </dl>
      {others.length > 0 && <p class="muted small">Not part of the hang: {others.join("; ")}.</p>}
    </>
  );
}
