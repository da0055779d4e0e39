// SPDX-License-Identifier: Apache-2.0
import type { ReportHeader } from "../api/types";
import { shortName } from "../format/frames";
import { duration } from "../format/numbers";
import { ago, moment } from "../format/times";
import { Table } from "./table";

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
    <Table
      label="Reports"
      columns={[
        "Began",
        { number: "Lasted" },
        ...(hasCause ? ["Cause"] : []),
        "Program",
        "Dispatch",
        "User",
        "System",
        "Kind",
      ]}
      class="reports"
    >
      {reports.map((report) => (
        <tr key={report.id} class={fresh?.has(report.id) ? "fresh" : undefined}>
          <td title={moment(report.start_wall_ms)}>
            <a href={`/reports/${report.id}`}>{ago(report.start_wall_ms)}</a>
            {(report.trace_count ?? 0) > 0 && <span class="mark">trace</span>}
          </td>
          <td class="number">
            {report.ended ? "" : "≥ "}
            {duration(report.duration_ms)}
          </td>
          {hasCause && (
            <td class="mono">
              {report.kind === "dump" ? (
                shortName(report.cause[0] ?? "no stack")
              ) : (
                <a href={`/causes/${report.cluster.level1}`}>{shortName(report.cause[0] ?? "no stack")}</a>
              )}
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
    </Table>
  );
}
