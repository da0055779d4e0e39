// SPDX-License-Identifier: Apache-2.0
// The wait chain: from the frozen thread to the one that holds it up, or a cycle.
import type { Wait } from "../api/types";
import { shortName } from "../format/frames";
import { duration } from "../format/numbers";
import { ownerWord } from "./report_text";

interface ThreadAt {
  readonly tid: number;
  readonly name: string;
  readonly at: string | null;
  readonly process?: { readonly pid: number; readonly name: string };
  readonly state?: string;
  readonly idle?: boolean;
}

type OwnReports = NonNullable<Wait["owner"]>["reports"];

function stateOf(thread: ThreadAt): string {
  if (thread.idle) return "idle: it did not answer";
  return thread.state === "T" ? "stopped" : thread.state === "R" ? "running" : "";
}

function Thread({ thread, role, own }: { thread: ThreadAt; role: string; own: OwnReports }) {
  return (
    <div class={`waits-thread ${role}`}>
      {thread.process && (
        <>
          process <b>{thread.process.name}</b> <span class="muted">{thread.process.pid}</span>,{" "}
        </>
      )}
      <b>{thread.name || "thread"}</b> <span class="muted">{thread.tid}</span>
      {stateOf(thread) && <span class="muted"> {stateOf(thread)}</span>}
      <div class="mono" title={thread.at ?? ""}>
        {thread.at ? shortName(thread.at) : <span class="muted">no stack</span>}
      </div>
      {own?.map((report) => (
        <div key={report.id}>
          <a href={`/reports/${report.id}`}>
            {report.app} itself froze for {duration(report.duration_ms)}
          </a>
        </div>
      ))}
    </div>
  );
}

const kForWords: Readonly<Record<string, string>> = {
  readers: "held by readers",
  signal: "not signalled yet",
  unknown: "holder unknown",
};

export function Waits({ waits, deadlock }: { waits: readonly Wait[]; deadlock: boolean }) {
  const last = waits[waits.length - 1];
  return (
    <ol
      class="waits"
      aria-label={
        deadlock ? "A deadlock: the last thread waits for an earlier one" : "Each waits for the next"
      }
    >
      {waits.map((wait, i) => (
        <li key={i}>
          <Thread thread={wait} role={i === 0 ? "frozen" : ""} own={waits[i - 1]?.owner?.reports} />
          <div class="waits-lock">
            <span aria-hidden="true">↓</span> waits for <b>{wait.kind}</b>{" "}
            <span class="mono muted">{wait.lock}</span>
            {wait.has_timeout && " (with a timeout)"},{" "}
            {wait.for === "owner" ? ownerWord(wait) : (kForWords[wait.for] ?? wait.for)}
          </div>
        </li>
      ))}
      {last?.owner && (
        <li>
          <Thread thread={last.owner} role={deadlock ? "deadlocked" : "owner"} own={last.owner.reports} />
          {deadlock && (
            <div class="waits-lock bad">
              <span aria-hidden="true">↺</span> deadlock: it waits for one of the threads above
            </div>
          )}
        </li>
      )}
    </ol>
  );
}
