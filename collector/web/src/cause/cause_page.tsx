// SPDX-License-Identifier: Apache-2.0
// One cause: a flame graph, verdicts, owners of the lock, and versions.
import { useLocation, useRoute } from "preact-iso";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, withQuery } from "../api/client";
import { useNewReports } from "../api/live";
import { usePendingNames } from "../api/pending_names";
import { useResource } from "../api/resource";
import type { CauseSamples, ClusterDetails } from "../api/types";
import { causeName, shortName } from "../format/frames";
import { count, duration, estimate, named, percent, plural, rate } from "../format/numbers";
import { SourceContext } from "../format/source";
import { ago, day, moment } from "../format/times";
import { Chart } from "../parts/chart";
import { reportFilters } from "../parts/filters";
import { Flame } from "../parts/flame";
import { Packages } from "../parts/packages";
import { StateMark } from "../parts/state_mark";
import { EmptyPage, Shown } from "../parts/states";
import { Term } from "../parts/term";
import { useTitle } from "../parts/use_title";
import { Breakdown } from "./breakdown";
import { CauseActions } from "./cause_actions";
import { CauseReports } from "./cause_reports";
import { Callers, Owners, Tags, Verdicts } from "./shares";
import { Versions } from "./versions";
import "./cause.css";

function Figures({ cause }: { cause: ClusterDetails }) {
  const { duration_ms: lasted } = cause;
  // The name, its entry in the glossary, the number and what explains it.
  const figures: [string, string, string, string][] = [
    [
      "Hang time",
      "hang-time",
      duration(cause.estimated.hang_ms),
      `${percent(cause.share)} of all; ${duration(cause.hang_ms)} reported`,
    ],
    ["Per hour of use", "hang-rate", rate(cause.hang_ms_per_hour), "in the programs concerned"],
    [
      "Hangs",
      "hang",
      estimate(cause.estimated.hangs),
      `${plural(cause.reports, "report")} received (${plural(cause.hangs, "hang")})`,
    ],
    [
      "Users",
      "user",
      cause.users > 0 ? count(cause.users) : "not known",
      "a run without a user's name is one",
    ],
    [
      "Lasted",
      "hang-time",
      duration(lasted.p50),
      `p95 ${duration(lasted.p95)}, longest ${duration(lasted.max)}`,
    ],
    [
      "Seen",
      "not-seen-since",
      ago(cause.last_seen_ms),
      cause.first_version === cause.last_version
        ? `first ${day(cause.first_seen_ms)}, in ${cause.first_version ?? "no known version"}`
        : `${day(cause.first_seen_ms)} in ${cause.first_version} to ${day(cause.last_seen_ms)} in ${cause.last_version}`,
    ],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, term, value, more]) => (
        <div key={name} class="card">
          <dt>
            <Term of={term}>{name}</Term>
          </dt>
          <dd>{value}</dd>
          <dd class="muted small">{more}</dd>
        </div>
      ))}
    </dl>
  );
}

// Older collectors, and those on ClickHouse, do not know it.
function Capped({ cause }: { cause: { capped?: { reports: number; hang_ms: number } | null } }) {
  const { capped } = cause;
  if (!capped || capped.reports === 0) return null;
  return (
    <p class="muted">
      {plural(capped.reports, "report")} {capped.reports === 1 ? "counts" : "count"} for less than{" "}
      {capped.reports === 1 ? "it says" : "they say"} (<Term of="capped">capped</Term>):{" "}
      {duration(capped.hang_ms)} of hang time is left out.
    </p>
  );
}

function Heading({ cause, onChanged }: { cause: ClusterDetails; onChanged: () => void }) {
  const isLink = /^https?:\/\//.test(cause.link ?? "");
  return (
    <div class="cause-head">
      <p class="muted">
        <a href="/">Causes</a>
        {cause.parent && (
          <>
            {" "}
            / <a href={`/causes/${cause.parent}`}>the whole cause</a>
          </>
        )}
      </p>
      <h1 title={`first seen ${moment(cause.first_seen_ms)}`}>
        {cause.title || (
          <>
            <span class="mono">{shortName(causeName(cause))}</span> froze{" "}
            {named(cause.apps, cause.more_apps, 2)}
          </>
        )}
        <StateMark cause={cause} />
      </h1>
      <p class="mono stack-line">
        {cause.frames.map(shortName).join(" ← ")}
        {cause.via && <span class="muted"> ← via {shortName(cause.via)}</span>}
        {cause.held_by.length > 0 && (
          <span class="held"> · held by {cause.held_by.map(shortName).join(" ← ")}</span>
        )}
      </p>
      <p class="muted">
        {named(cause.apps, cause.more_apps)} {named(cause.versions, cause.more_versions)}
        {cause.link && (
          <>
            {" · "}
            {isLink ? (
              <a href={cause.link} rel="noreferrer noopener">
                {cause.link}
              </a>
            ) : (
              cause.link
            )}
          </>
        )}
      </p>
      <CauseActions cause={cause} onChanged={onChanged} />
    </div>
  );
}

function Samples({ samples }: { samples: CauseSamples }) {
  const stacks = useMemo(
    () =>
      samples.samples.map((sample) => ({
        frames: (samples.stacks[sample.stack] ?? []).map((index) => samples.frames[index]!),
        ms: sample.ms,
      })),
    [samples],
  );
  return (
    <section class="card">
      <h2>
        <Term of="flame-graph">Flame graph</Term>{" "}
        <span class="muted small">samples of the newest {plural(samples.reports, "report")}</span>
      </h2>
      <Packages packages={samples.packages} />
      <SourceContext.Provider value={samples.source}>
        <Flame stacks={stacks} label="All samples of this cause" />
      </SourceContext.Provider>
    </section>
  );
}

function Whole({
  cause,
  samples,
  filters,
  onChanged,
}: {
  cause: ClusterDetails;
  samples: CauseSamples;
  filters: Record<string, string>;
  onChanged: () => void;
}) {
  useTitle(causeName(cause));
  return (
    <>
      <Heading cause={cause} onChanged={onChanged} />
      <Samples samples={samples} />
      <Figures cause={cause} />
      <Capped cause={cause as Parameters<typeof Capped>[0]["cause"]} />
      <Versions cause={cause} />
      <div class="columns">
        <Breakdown
          path={`/v1/clusters/${cause.key}/breakdown`}
          filters={filters}
          revision={cause.reports}
          linkOf={(part) => withQuery(`/causes/${cause.key}`, part)}
        />
        <section class="card">
          <h2>Day by day</h2>
          <Chart
            label="Hang time by day"
            kind="bars"
            daysMs={cause.days.map((each) => each.begin_ms)}
            lines={[
              {
                name: "Hang time",
                values: cause.days.map((each) => each.weighted_hang_ms),
                color: "--accent",
              },
            ]}
            format={duration}
          />
        </section>
      </div>
      <div class="columns">
        <Verdicts cause={cause} />
        <Owners samples={samples} />
        <Callers cause={cause} />
        <Tags samples={samples} />
      </div>
      <CauseReports key={`${cause.reports}`} cause={cause} filters={filters} />
    </>
  );
}

export function CausePage() {
  const { params } = useRoute();
  const key = params["cause"] ?? "";
  const path = `/v1/clusters/${encodeURIComponent(key)}`;
  const { path: address, query } = useLocation();
  const filters = reportFilters(query);
  const isFiltered = Object.keys(filters).length > 0;
  const both = useResource(withQuery(path, filters), async (abort) => {
    const [cause, samples] = await Promise.all([
      get<ClusterDetails>(path, { ...filters, by: "version" }, abort),
      get<CauseSamples>(`${path}/samples`, filters, abort),
    ]);
    return { cause, samples };
  });
  usePendingNames(both, ({ cause, samples }) => cause.names_pending || samples.names_pending);
  // A flame graph does not change while a reader looks at it.
  const [fresh, setFresh] = useState(0);
  useEffect(() => setFresh(0), [key]);
  const keys = [key, ...(both.data?.cause.merged ?? [])];
  useNewReports(({ cluster }) => {
    if (keys.includes(cluster.level1) || keys.includes(cluster.level2)) setFresh((before) => before + 1);
  });
  const reload = (): void => {
    setFresh(0);
    both.reload();
  };
  return (
    <>
      {fresh > 0 && (
        <p class="state fresh" role="status">
          {plural(fresh, "new report")} <button onClick={reload}>Show {fresh === 1 ? "it" : "them"}</button>
        </p>
      )}
      {isFiltered && (
        <p class="state fresh">
          Only reports with{" "}
          {Object.entries(filters)
            .map(([name, value]) => `${name} ${value}`)
            .join(", ")}
          <a class="button" href={address}>
            All of this cause
          </a>
        </p>
      )}
      <Shown
        resource={both}
        what="the cause"
        missing={
          <EmptyPage title="No such cause">
            <p>
              Its reports may have been removed, or the address is wrong. <a href="/?state=all">All causes</a>
            </p>
          </EmptyPage>
        }
      >
        {({ cause, samples }) => (
          <Whole cause={cause} samples={samples} filters={filters} onChanged={reload} />
        )}
      </Shown>
    </>
  );
}
