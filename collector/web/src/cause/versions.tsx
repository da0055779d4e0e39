// SPDX-License-Identifier: Apache-2.0
// The cost of the cause per hour of each version's use, which shows whether a fix worked.
import type { ClusterDetails } from "../api/types";
import { count, duration, percent, rate } from "../format/numbers";
import { moment } from "../format/times";
import { Table } from "../parts/table";

type Version = NonNullable<ClusterDetails["by_version"]>[number];

// A version needs this much use before its rate means anything.
const kEnoughMs = 3_600_000;
const kNoticed = 0.1;

export function answerOf(versions: readonly Version[]): string {
  const watched = versions.filter((each) => each.watched_ms >= kEnoughMs && each.hang_ms_per_hour !== null);
  const newest = watched[watched.length - 1];
  const before = [...watched]
    .reverse()
    .find((each) => each !== newest && each.app === newest?.app && each.hang_ms_per_hour! > 0);
  if (!newest) return "No version was watched for an hour yet.";
  if (newest.hang_ms_per_hour === 0)
    return `Not seen in ${newest.version}, in ${duration(newest.watched_ms)} of use.`;
  if (!before) return `${rate(newest.hang_ms_per_hour)} in ${newest.version}; no version to compare with.`;
  const change = newest.hang_ms_per_hour! / before.hang_ms_per_hour! - 1;
  if (Math.abs(change) < kNoticed) return `About the same in ${newest.version} as in ${before.version}.`;
  return `${percent(Math.abs(change))} ${change < 0 ? "less" : "more"} in ${newest.version} than in ${before.version}.`;
}

export function Versions({ cause }: { cause: ClusterDetails }) {
  const versions = cause.by_version ?? [];
  const most = Math.max(...versions.map((each) => each.hang_ms_per_hour ?? 0), 1e-9);
  return (
    <section class="card">
      <h2>Version by version</h2>
      <p class="answer">{answerOf(versions)}</p>
      <Table
        label="Versions"
        columns={[
          "Version",
          "Hang time per hour of use",
          { number: "Hangs" },
          { number: "Users" },
          { number: "Watched" },
        ]}
      >
        {versions.map((each) => (
          <tr key={each.app + each.version}>
            <td
              title={
                each.reports > 0
                  ? `${moment(each.first_seen_ms)} to ${moment(each.last_seen_ms)}`
                  : "did not occur"
              }
            >
              {each.version} {cause.apps.length > 1 && <span class="muted">{each.app}</span>}
            </td>
            <td class="rate">
              {each.hang_ms_per_hour === 0 ? <span class="none">none</span> : rate(each.hang_ms_per_hour)}
              <div class="bar" aria-hidden="true">
                <i style={{ width: `${(100 * (each.hang_ms_per_hour ?? 0)) / most}%` }} />
              </div>
            </td>
            <td class="number">{count(each.hangs)}</td>
            <td class="number">{count(each.users)}</td>
            <td class="number">{duration(each.watched_ms)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
