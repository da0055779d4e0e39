// SPDX-License-Identifier: Apache-2.0
// One report: timeline, verdict, wait chain, stacks.
import { useRoute } from "preact-iso";
import { useEffect, useMemo, useState } from "preact/hooks";
import { downloadFile, get, saveAs } from "../api/client";
import { usePendingNames } from "../api/pending_names";
import { useResource } from "../api/resource";
import { isAdmin } from "../api/session";
import type { Report, TabledReport } from "../api/types";
import { shortName } from "../format/frames";
import { plural } from "../format/numbers";
import { oddNumbers } from "../format/plausible";
import { SourceContext } from "../format/source";
import { moment } from "../format/times";
import { Boundary } from "../parts/boundary";
import { CopyButton } from "../parts/copy_button";
import { DeleteButton } from "../parts/delete_button";
import { Flame } from "../parts/flame";
import { OddMark } from "../parts/odd_mark";
import { Packages } from "../parts/packages";
import { EmptyPage, ErrorBox, Shown } from "../parts/states";
import { Term } from "../parts/term";
import { useTitle } from "../parts/use_title";
import { VerdictWord } from "../parts/verdict";
import { Context, Modules } from "./context";
import { Evidence } from "./evidence";
import { asText, guilty, headline, isWait } from "./report_text";
import { HangTimeline } from "./hang_timeline";
import { hasLag, isOfCpu, isSlow, timedStacks } from "./report_times";
import { untabled } from "./tabled_report";
import { Threads } from "./threads";
import { TracePanel } from "./trace_panel";
import { Waits } from "./waits";
import "./report.css";

function Downloads({ report }: { report: Report }) {
  const name = `${report.app || "report"}-${report.id}`;
  const [error, setError] = useState<Error | null>(null);
  const saveJson = () => {
    setError(null);
    get<Report>(`/v1/reports/${report.id}`)
      .then((whole) => saveAs(`${name}.json`, JSON.stringify(whole, null, 2)))
      .catch(setError);
  };
  const saveFile = (format: string) => {
    setError(null);
    downloadFile(`/v1/reports/${report.id}`, { format }).catch(setError);
  };
  return (
    <div class="downloads" role="group" aria-label="Download">
      <button onClick={saveJson}>JSON</button>
      <button onClick={() => saveFile("collapsed")}>Collapsed</button>
      <button onClick={() => saveFile("speedscope")}>speedscope</button>
      <CopyButton text={asText(report, location.href)} label="Copy as text" />
      {isAdmin() && <DeleteButton kind="report" subject={report.id} what="this report" />}
      {error && <ErrorBox error={error} />}
    </div>
  );
}

function Heading({ report }: { report: Report }) {
  const title = headline(report);
  return (
    <div class="report-head">
      <div>
        <p class="muted">
          <a href="/">Causes</a>
          {report.kind !== "dump" && (
            <>
              {" "}
              / <a href={`/causes/${report.cluster.level1}`}>{shortName(report.cause[0] ?? "its cause")}</a>
            </>
          )}
        </p>
        <h1>
          {title.function && <span class="mono">{title.function}</span>}
          {title.rest}
        </h1>
        <p class="muted">
          {report.tag && !isWait(report.tag) && <>in “{report.tag}” </>}
          {report.loop && <>on loop {report.loop} · </>}
          {moment(report.start_wall_ms)}
          {report.user && <> · user {report.user}</>} · <span class="mark">{report.kind}</span>
          {report.level === "anr" && <span class="mark regressed">ANR</span>}
          <OddMark odd={oddNumbers(report)} />
        </p>
      </div>
      <Downloads report={report} />
    </div>
  );
}

function samplesText(report: Report): string {
  if (isSlow(report)) return "calls of the dispatch";
  if (report.samples.length <= 1) return "the most expensive stack";
  return `${plural(report.samples.length, "sample")} of the ${isOfCpu(report) ? "window" : "hang"}`;
}

const kManyStacks = 100;

// Whether the flame graph, which comes first, is drawn: of a large report the rest takes longer.
function useFirstPicture(report: Report): boolean {
  const [isDrawn, setDrawn] = useState(report.samples.length + report.threads.length < kManyStacks);
  useEffect(() => {
    const timer = setTimeout(() => requestAnimationFrame(() => setDrawn(true)), 50);
    return () => clearTimeout(timer);
  }, []);
  return isDrawn;
}

function Whole({ tabled }: { tabled: TabledReport }) {
  const report = useMemo(() => untabled(tabled), [tabled]);
  const isDrawn = useFirstPicture(report);
  const stacks = useMemo(() => timedStacks(report), [report]);
  useTitle(guilty(report) || report.app);
  return (
    <SourceContext.Provider value={report.source}>
      <Boundary what="the heading">
        <Heading report={report} />
      </Boundary>
      <section class="card">
        <h2>
          <Term of="flame-graph">Flame graph</Term> <span class="muted small">{samplesText(report)}</span>
        </h2>
        <Packages packages={report.packages} />
        <Boundary what="the flame graph">
          <Flame stacks={stacks} label="Activity of the thread" />
        </Boundary>
      </section>
      {isDrawn && <Rest report={report} />}
    </SourceContext.Provider>
  );
}

function Rest({ report }: { report: Report }) {
  return (
    <>
      {hasLag(report) && (
        <Boundary what="the time line">
          <HangTimeline report={report} />
        </Boundary>
      )}
      <div class="columns">
        <section class="card">
          <h2>
            <Term of="verdict">Why</Term>: <VerdictWord word={report.verdict.word} />
          </h2>
          <Boundary what="the verdict's numbers">
            <Evidence report={report} />
          </Boundary>
        </section>
        {report.waits.length > 0 && (
          <section class="card">
            <h2>
              <Term of="wait-chain">Wait chain</Term>
            </h2>
            <Boundary what="the waits">
              <Waits waits={report.waits} deadlock={report.deadlock} />
            </Boundary>
          </section>
        )}
      </div>
      <Boundary what="the trace">
        <TracePanel report={report} />
      </Boundary>
      <Boundary what="the threads">
        <Threads report={report} />
      </Boundary>
      <Boundary what="the modules">
        <Modules report={report} />
      </Boundary>
      <Boundary what="the context">
        <Context report={report} />
      </Boundary>
    </>
  );
}

export function ReportPage() {
  const { params } = useRoute();
  const path = `/v1/reports/${encodeURIComponent(params["report"] ?? "")}`;
  const report = useResource(path, (abort) => get<TabledReport>(path, { stacks: "table" }, abort));
  usePendingNames(report, (whole) => whole.names_pending);
  return (
    <Shown
      resource={report}
      what="the report"
      missing={
        <EmptyPage title="No such report">
          <p>
            It may have been removed, or the address is wrong. <a href="/live">The newest reports</a>,{" "}
            <a href="/">all causes</a>
          </p>
        </EmptyPage>
      }
    >
      {(tabled) => <Whole tabled={tabled} />}
    </Shown>
  );
}
