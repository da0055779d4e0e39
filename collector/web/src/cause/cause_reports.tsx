// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { get } from "../api/client";
import { useResource } from "../api/resource";
import type { ClusterDetails, ReportHeader } from "../api/types";
import { plural } from "../format/numbers";
import { ReportTable } from "../parts/report_table";
import { ErrorBox, Shown } from "../parts/states";

const kPage = 50;

export function CauseReports({ cause, filters }: { cause: ClusterDetails; filters: Record<string, string> }) {
  const newest = useResource(`reports of ${cause.key} ${cause.reports}`, (abort) =>
    get<ReportHeader[]>("/v1/reports", { ...filters, cluster: cause.key, limit: kPage }, abort),
  );
  const [older, setOlder] = useState<readonly ReportHeader[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [isAtEnd, setAtEnd] = useState(false);
  const more = (after: readonly ReportHeader[]): void => {
    setError(null);
    get<ReportHeader[]>("/v1/reports", {
      ...filters,
      cluster: cause.key,
      limit: kPage,
      before: after[after.length - 1]?.id,
    }).then((page) => {
      setOlder([...older, ...page]);
      setAtEnd(page.length < kPage);
    }, setError);
  };
  return (
    <section class="card">
      <h2>
        Reports{" "}
        <span class="muted small">
          {plural(cause.reports, "report")}; a typical one:{" "}
          <a href={`/reports/${cause.representative}`}>show</a>
        </span>
      </h2>
      <Shown resource={newest} what="reports">
        {(first) => {
          const ids = new Set(first.map((each) => each.id));
          const all = [...first, ...older.filter((each) => !ids.has(each.id))];
          return (
            <>
              <ReportTable reports={all} />
              {error && <ErrorBox error={error} />}
              {all.length >= kPage && !isAtEnd && <button onClick={() => more(all)}>Older ones</button>}
            </>
          );
        }}
      </Shown>
    </section>
  );
}
