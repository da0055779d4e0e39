// SPDX-License-Identifier: Apache-2.0
// Reports as they come, the newest first.
import { useState } from "preact/hooks";
import { get } from "../api/client";
import { isListening, useNewReports, useReloadOnReports } from "../api/live";
import { useResource } from "../api/resource";
import type { ReportHeader } from "../api/types";
import { plural } from "../format/numbers";
import { FilterBar, filterParams, useFilters, type Filters } from "../parts/filters";
import { ReportTable } from "../parts/report_table";
import { Empty, Shown } from "../parts/states";
import { useTitle } from "../parts/use_title";

const kShown = 100;

// Ignores days: new reports are of today.
export function isAskedFor(report: ReportHeader, filters: Filters): boolean {
  return (["app", "version", "kind", "distribution", "os", "loop", "tag", "user"] as const).every(
    (name) => !filters[name] || report[name] === filters[name],
  );
}

export function LivePage() {
  useTitle("Live");
  const [filters, setFilters] = useFilters();
  const key = JSON.stringify(filters);
  const before = useResource(key, (abort) =>
    get<ReportHeader[]>("/v1/reports", { ...filterParams(filters), limit: kShown }, abort),
  );
  const [fresh, setFresh] = useState<{ key: string; reports: readonly ReportHeader[] }>({ key, reports: [] });
  // A stream's reports come without a verdict: the list is asked instead.
  useReloadOnReports(before, () => filters.verdict !== undefined);
  useNewReports((report) => {
    if (!filters.verdict && isAskedFor(report, filters))
      setFresh((all) => ({
        key,
        reports: [report, ...(all.key === key ? all.reports : [])].slice(0, kShown),
      }));
  });
  const came = fresh.key === key ? fresh.reports : [];
  return (
    <>
      <div class="title">
        <h1>Live</h1>
        <p class="summary" role="status">
          <i class={isListening.value ? "pulse on" : "pulse"} aria-hidden="true" />{" "}
          {isListening.value
            ? came.length > 0
              ? `${plural(came.length, "new report")} since you opened this page`
              : "waiting for new reports"
            : "not connected; trying again"}
        </p>
      </div>
      <FilterBar filters={filters} onChange={setFilters} hasText={false} />
      <Shown resource={before} what="the newest reports">
        {(reports) => {
          const ids = new Set(came.map((each) => each.id));
          const all = [...came, ...reports.filter((each) => !ids.has(each.id))].slice(0, kShown);
          if (all.length === 0)
            return (
              <Empty title="No reports so far">
                <p>
                  <a href="/connect">Connect a program</a>
                </p>
              </Empty>
            );
          return (
            <section class="card">
              <ReportTable reports={all} hasCause fresh={ids} />
            </section>
          );
        }}
      </Shown>
    </>
  );
}
