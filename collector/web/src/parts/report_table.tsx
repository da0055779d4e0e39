// SPDX-License-Identifier: Apache-2.0
import type { ReportHeader } from "../api/types";
import { shortName } from "../format/frames";
import { duration } from "../format/numbers";
import { oddHeader } from "../format/plausible";
import { systemText } from "../format/platform";
import { ago, moment } from "../format/times";
import { Boundary } from "./boundary";
import { OddMark } from "./odd_mark";
import { Table, type Column } from "./table";

interface RowProps {
  report: ReportHeader;
  hasCause: boolean;
  isFresh: boolean;
}

const columnsOf = (hasCause: boolean): Column[] => [
  "Began",
  { number: "Lasted" },
  ...(hasCause ? ["Cause"] : []),
  "Program",
  "Dispatch",
  "User",
  "System",
  "Kind",
];

function ReportRow({ report, hasCause, isFresh }: RowProps) {
  return (
    <tr class={isFresh ? "fresh" : undefined}>
      <td title={moment(report.start_wall_ms)}>
        <a href={`/reports/${report.id}`}>{ago(report.start_wall_ms)}</a>
        <OddMark odd={oddHeader(report)} />
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
      <td title={systemText(report)}>{report.distribution || systemText(report)}</td>
      <td>{report.kind}</td>
    </tr>
  );
}

// Stands for a report that cannot be shown as a row.
function BadRow({ report, hasCause, error }: { report: ReportHeader; hasCause: boolean; error: Error }) {
  return (
    <tr class="bad">
      <td colSpan={columnsOf(hasCause).length}>
        <a href={`/reports/${report.id}`}>This report</a> cannot be shown here: {error.message}
      </td>
    </tr>
  );
}

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
    <Table label="Reports" columns={columnsOf(hasCause)} class="reports">
      {reports.map((report) => (
        <Boundary
          key={report.id}
          what="a report"
          fallback={(error) => <BadRow report={report} hasCause={hasCause} error={error} />}
        >
          <ReportRow report={report} hasCause={hasCause} isFresh={fresh?.has(report.id) ?? false} />
        </Boundary>
      ))}
    </Table>
  );
}
