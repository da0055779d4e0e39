// SPDX-License-Identifier: Apache-2.0
// The list of causes, the costliest first.
import { useState } from "preact/hooks";
import { download, get, withQuery } from "../api/client";
import { useReloadOnReports } from "../api/live";
import { useResource } from "../api/resource";
import type { Cluster } from "../api/types";
import { duration, plural } from "../format/numbers";
import { ConnectSteps } from "../live/connect_steps";
import { Breakdown } from "../cause/breakdown";
import { FilterBar, filterParams, reportParams, useFilters } from "../parts/filters";
import { Empty, EmptyPage, ErrorBox, Loading, Shown } from "../parts/states";
import { useTitle } from "../parts/use_title";
import { CauseRows } from "./cause_rows";
import { sunk, useCauseList, usePackages } from "./cause_list";
import "./causes.css";

// All of them together: a cause's share says how much it is a share of.
function totalMs(causes: readonly Cluster[]): number | null {
  const one = causes.find((cause) => cause.share > 0);
  return one ? one.estimated.hang_ms / one.share : null;
}

function Summary({ causes, hasAll }: { causes: readonly Cluster[]; hasAll: boolean }) {
  const total = totalMs(causes);
  return (
    <p class="summary" role="status">
      {total !== null && (
        <>
          <b>{duration(total)}</b> of hangs ·{" "}
        </>
      )}
      {hasAll ? plural(causes.length, "cause") : `the ${causes.length} costliest causes so far`}
    </p>
  );
}

// Either nothing came so far, or all of it is done with.
function NoOpenCause() {
  const any = useResource("any cause", (abort) =>
    get<Cluster[]>("/v1/clusters", { level: 1, state: "all", limit: 1 }, abort),
  );
  return (
    <Shown resource={any} what="causes">
      {(all) =>
        all.length === 0 ? (
          <ConnectSteps />
        ) : (
          <EmptyPage title="No cause is open">
            <p>
              All are fixed or ignored. <a href="/?state=all">Show them</a>
            </p>
          </EmptyPage>
        )
      }
    </Shown>
  );
}

export function CausesPage() {
  const [filters, setFilters] = useFilters();
  const params = filterParams(filters);
  const list = useCauseList({ level: 1, ...params });
  const packages = usePackages(list.causes, { level: 1, ...params });
  const [isBrokenDown, setBrokenDown] = useState(false);
  const [csvError, setCsvError] = useState<Error | null>(null);
  useReloadOnReports(list);
  useTitle("Causes");
  const isFiltered = Object.keys(filters).length > 0;
  const { causes } = list;
  if (causes?.length === 0 && !isFiltered) return <NoOpenCause />;
  const csv = (): void => {
    setCsvError(null);
    download("/v1/clusters", { level: 1, ...params, limit: 1000, format: "csv" }, "causes.csv").catch(
      setCsvError,
    );
  };
  return (
    <>
      <div class="title">
        <h1>Causes</h1>
        <Summary causes={causes ?? []} hasAll={list.hasAll} />
        <button aria-pressed={isBrokenDown} onClick={() => setBrokenDown(!isBrokenDown)}>
          Breakdown
        </button>
        <button onClick={csv} title="The 1,000 costliest matching causes">
          CSV
        </button>
      </div>
      <FilterBar filters={filters} onChange={setFilters} hasText />
      {isBrokenDown && causes && (
        <Breakdown
          path="/v1/breakdown"
          filters={reportParams(params)}
          revision={causes.reduce((sum, cause) => sum + cause.reports, 0)}
          linkOf={(part) => withQuery("/", { ...filters, ...part })}
        />
      )}
      {csvError && <ErrorBox error={csvError} />}
      {list.error && <ErrorBox error={list.error} onRetry={list.reload} />}
      {causes === null && !list.error && <Loading what="causes" />}
      {causes?.length === 0 && (
        <Empty title="No hangs match">
          <p>Remove a filter, or select a longer time.</p>
        </Empty>
      )}
      {causes && causes.length > 0 && (
        <CauseRows causes={sunk(causes)} packages={packages} hasAll={list.hasAll} onEnd={list.loadMore} />
      )}
    </>
  );
}
