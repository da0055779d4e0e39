// SPDX-License-Identifier: Apache-2.0
import type { ReportHeader } from "../api/types";
import { shortName } from "../format/frames";
import { duration } from "../format/numbers";
import { ago, moment } from "../format/times";

export function ReportTable({
  reports,
  hasCause = false,
  fresh,
}: {
  reports: readonly ReportHeader[];
  hasCause?: boolean;
  fresh?: ReadonlySet<string>;
}) {
  return (
    <div class="scroll-x" role="region" aria-label="Reports" tabIndex={0}>
      <table class="reports">
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col" class="number">
              Lasted
            </th>
            {hasCause && <th scope="col">Cause</th>}
            <th scope="col">Program</th>
            <th scope="col">Dispatch</th>
            <th scope="col">User</th>
            <th scope="col">System</th>
            <th scope="col">Kind</th>
          </tr>
        </thead>
        <tbody>
          {reports.map((report) => (
            <tr key={report.id} class={fresh?.has(report.id) ? "fresh" : undefined}>
              <td title={moment(report.start_wall_ms)}>
                <a href={`/reports/${report.id}`}>{ago(report.start_wall_ms)}</a>
              </td>
              <td class="number">
                {report.ended ? "" : "≥ "}
                {duration(report.duration_ms)}
              </td>
              {hasCause && (
                <td class="mono">
                  <a href={`/causes/${report.cluster.level1}`}>{shortName(report.cause[0] ?? "no stack")}</a>
                </td>
              )}
              <td>
                {report.app} {report.version}
              </td>
              <td>{report.tag || <span class="muted">untagged</span>}</td>
              <td>{report.user || <span class="muted">not named</span>}</td>
              <td>
                {report.os} {report.machine}
              </td>
              <td>{report.kind}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
