// SPDX-License-Identifier: Apache-2.0
// The trace of a report: the activity of the program's threads before it.
import { useEffect, useMemo, useState } from "preact/hooks";
import { downloadFile, get } from "../api/client";
import { usePendingNames } from "../api/pending_names";
import { useResource } from "../api/resource";
import type { Report, TraceFlame, TraceHeader } from "../api/types";
import { bytes, count, duration, plural } from "../format/numbers";
import { Flame } from "../parts/flame";
import { ErrorBox, Shown } from "../parts/states";

interface Format {
  readonly name: string;
  readonly label: string;
  readonly opens: string; // what opens it
  readonly address?: string;
}

const kFormats: readonly Format[] = [
  {
    name: "perfetto",
    label: "Perfetto",
    opens: "ui.perfetto.dev: the whole timeline",
    address: "https://ui.perfetto.dev",
  },
  {
    name: "speedscope",
    label: "speedscope",
    opens: "speedscope.app: timeline and flame graphs",
    address: "https://www.speedscope.app",
  },
  { name: "chrome", label: "Chrome JSON", opens: "chrome://tracing" },
  { name: "pprof", label: "pprof", opens: "go tool pprof" },
  { name: "collapsed", label: "Collapsed stacks", opens: "flame graph scripts" },
  { name: "nanoscope", label: "Nanoscope", opens: "Nanoscope: one thread's calls" },
  { name: "lwtrace", label: "lwtrace", opens: "lagwatch trace show, lagwatch trace convert" },
];

function Files({ trace }: { trace: TraceHeader }) {
  const [error, setError] = useState<Error | null>(null);
  return (
    <>
      <ul class="trace-files" aria-label="The whole trace as a file">
        {kFormats.map(({ name, label, opens, address }) => (
          <li key={name}>
            <button
              onClick={() => {
                setError(null);
                downloadFile(`/v1/traces/${trace.id}`, { format: name }).catch(setError);
              }}
            >
              <span class="unseen">Download the trace for </span>
              {label}
            </button>{" "}
            <span class="muted small">
              opens in{" "}
              {address ? (
                <a href={address} rel="noreferrer noopener">
                  {opens}
                </a>
              ) : (
                opens
              )}
            </span>
          </li>
        ))}
      </ul>
      {error && <ErrorBox error={error} />}
    </>
  );
}

function ThreadsOfTrace({ flame, onChosen }: { flame: TraceFlame; onChosen: (tid: number) => void }) {
  const threads = [...flame.threads].sort(
    (a, b) => Number(b.is_main) - Number(a.is_main) || b.known_ms - a.known_ms,
  );
  return (
    <div class="trace-threads" role="group" aria-label="Thread">
      {threads.map((thread) => (
        <button key={thread.tid} aria-pressed={thread.tid === flame.tid} onClick={() => onChosen(thread.tid)}>
          {thread.name || "unnamed"} <span class="muted">{thread.tid}</span>
          {thread.is_main && <span class="mark">main</span>}{" "}
          <span class="muted small">{duration(thread.known_ms)}</span>
        </button>
      ))}
    </div>
  );
}

function Losses({ flame }: { flame: TraceFlame }) {
  if (flame.losses.length === 0) return null;
  return (
    <ul class="muted small">
      {flame.losses.map((loss) => (
        <li key={loss.what}>
          {count(loss.count)} {loss.what}
          {loss.remedy && `; ${loss.remedy} would have kept them`}
        </li>
      ))}
    </ul>
  );
}

function OneTrace({ trace, report }: { trace: TraceHeader; report: Report }) {
  const [tid, setTid] = useState<number | null>(null);
  const path = `/v1/traces/${trace.id}/flame`;
  const resource = useResource(`${path} ${tid}`, (abort) => get<TraceFlame>(path, { tid }, abort));
  usePendingNames(resource, (flame) => flame.names_pending);
  const [flame, setFlame] = useState<TraceFlame | null>(null);
  useEffect(() => {
    const { data } = resource;
    if (!data) return;
    setFlame(data);
    // The frozen thread first, when it is not the main one.
    if (tid === null && data.tid !== report.tid && data.threads.some((each) => each.tid === report.tid))
      setTid(report.tid);
  }, [resource.data]);
  const stacks = useMemo(
    () =>
      (flame?.stacks ?? []).map(({ frames, ms }) => ({
        frames: frames.map((index) => flame!.frames[index]!),
        ms,
      })),
    [flame],
  );
  const shown = { ...resource, data: flame };
  return (
    <Shown resource={shown} what="the trace">
      {(known) => {
        const thread = known.threads.find((each) => each.tid === known.tid);
        return (
          <>
            <ThreadsOfTrace flame={known} onChosen={setTid} />
            <Flame
              stacks={stacks}
              label={`Activity of the thread ${thread?.name ?? known.tid} before`}
              orders={["left-heavy"]}
            />
            <Losses flame={known} />
          </>
        );
      }}
    </Shown>
  );
}

function AskForTrace({ report }: { report: Report }) {
  if (report.cause_key === null) return null;
  return (
    <p class="muted small">
      This report has no trace.{" "}
      <a href={`/settings?capture=${report.cause_key}`}>Request one with the next hang of this cause</a>.
    </p>
  );
}

export function TracePanel({ report }: { report: Report }) {
  const { traces } = report;
  const [chosen, setChosen] = useState(0);
  const trace = traces[chosen] ?? traces[0];
  if (!trace) return <AskForTrace report={report} />;
  return (
    <section class="card trace">
      <h2>
        Before the hang{" "}
        <span class="muted small">
          {duration(trace.duration_ms)} recorded, {bytes(trace.size_bytes)}
        </span>
      </h2>
      {traces.length > 1 && (
        <div class="switch" role="group" aria-label={plural(traces.length, "trace")}>
          {traces.map((each, i) => (
            <button key={each.id} aria-pressed={each === trace} onClick={() => setChosen(i)}>
              {each.reason || `trace ${i + 1}`}
            </button>
          ))}
        </div>
      )}
      <OneTrace key={trace.id} trace={trace} report={report} />
      <h3>The whole trace</h3>
      <Files trace={trace} />
    </section>
  );
}
