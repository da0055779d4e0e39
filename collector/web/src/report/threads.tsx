// SPDX-License-Identifier: Apache-2.0
// Every thread and its stack, the frozen one first.
import { useState } from "preact/hooks";
import type { Frame, Report } from "../api/types";
import { fileName, place, shortName, wholeFrame } from "../format/frames";
import { duration, plural } from "../format/numbers";
import { frameHue } from "../parts/flame_tree";
import { Folded } from "../parts/folded";
import { SourceLink } from "../parts/source_link";

const kStates: Readonly<Record<string, string>> = {
  R: "running",
  S: "sleeping",
  D: "in uninterruptible sleep",
  T: "stopped",
  t: "traced",
  Z: "zombie",
  I: "idle",
};

const kRemarks: Readonly<Record<string, string>> = {
  cut: "The outer callers are missing.",
  incomplete: "The outer callers are missing.",
  probable: "Code without unwind tables: its callers are probable only.",
};

const kFirstFrames = 60; // the others when they are asked for
const kFirstThreads = 50;

export function StackList({ stack }: { stack: readonly Frame[] }) {
  const [hasAll, setAll] = useState(stack.length <= kFirstFrames);
  return (
    <>
      <ol class="stack mono">
        {(hasAll ? stack : stack.slice(0, kFirstFrames)).map((frame, i) => (
          <li key={i} class={frameHue(frame) === null ? "system" : undefined} title={wholeFrame(frame)}>
            {frame.left_out_before ? (
              <span class="muted">… {frame.left_out_before} frames left out … </span>
            ) : null}
            <span class="function">{shortName(frame.function)}</span>
            {frame.inlined && <span class="muted"> inlined</span>}
            <span class="muted place">
              {" "}
              <SourceLink frame={frame}>{place(frame as Frame) || fileName(frame.module)}</SourceLink>
            </span>
          </li>
        ))}
      </ol>
      {!hasAll && (
        <button onClick={() => setAll(true)}>{plural(stack.length - kFirstFrames, "more frame")}</button>
      )}
    </>
  );
}

function ThreadDetails({ thread, isWatched }: { thread: Report["threads"][number]; isWatched: boolean }) {
  return (
    <Folded
      class="thread"
      isOpen={isWatched}
      summary={
        <>
          <b>{thread.name}</b> <span class="muted">{thread.tid}</span>
          {isWatched && <span class="mark new">watched</span>}
          <span class="muted">
            {" "}
            {kStates[thread.state] ?? thread.state}
            {thread.wait_channel && ` in ${thread.wait_channel}`} · {duration(thread.cpu_ms)} CPU ·{" "}
            <span class="mono">{thread.stack[0] ? shortName(thread.stack[0].function) : "no stack"}</span>
          </span>
        </>
      }
    >
      {thread.stack.length > 0 ? (
        <StackList stack={thread.stack} />
      ) : (
        <p class="muted">Its stack could not be captured.</p>
      )}
      {kRemarks[thread.completeness] && <p class="muted">{kRemarks[thread.completeness]}</p>}
    </Folded>
  );
}

export function Threads({ report }: { report: Report }) {
  const threads = [...report.threads].sort(
    (a, b) => Number(b.tid === report.tid) - Number(a.tid === report.tid),
  );
  const [shown, setShown] = useState(kFirstThreads);
  return (
    <section class="card">
      <h2>Threads ({report.threads.length + report.threads_dropped})</h2>
      {threads.slice(0, shown).map((thread) => (
        <ThreadDetails key={thread.tid} thread={thread} isWatched={thread.tid === report.tid} />
      ))}
      {threads.length > shown && (
        <button onClick={() => setShown(shown + 10 * kFirstThreads)}>
          {plural(threads.length - shown, "more thread")}
        </button>
      )}
      {report.threads_dropped > 0 && (
        <p class="muted">{report.threads_dropped} more had no room in the report.</p>
      )}
      {report.lagwatch_threads > 0 && (
        <p class="muted">
          {report.lagwatch_threads} {report.lagwatch_threads === 1 ? "thread" : "threads"} of lagwatch
        </p>
      )}
    </section>
  );
}
