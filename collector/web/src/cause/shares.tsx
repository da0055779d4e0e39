// SPDX-License-Identifier: Apache-2.0
// Shares of a cause's time: verdicts, lock owners, callers, tags.
import type { ComponentChildren } from "preact";
import type { CauseSamples, ClusterDetails } from "../api/types";
import { shortName } from "../format/frames";
import { duration, percent, plural } from "../format/numbers";
import { Term } from "../parts/term";
import { verdictColor } from "../parts/verdict";
import { kVerdicts } from "../parts/verdict_words";

interface Part {
  readonly key: string;
  readonly name: ComponentChildren;
  readonly ms: number;
  readonly more?: string;
  readonly color?: string;
}

function Parts({ title, term, parts }: { title: string; term: string; parts: readonly Part[] }) {
  if (parts.length === 0) return null;
  const total = parts.reduce((sum, part) => sum + part.ms, 0);
  return (
    <section class="card parts">
      <h2>
        <Term of={term}>{title}</Term>
      </h2>
      <ul>
        {parts.map((part) => (
          <li key={part.key}>
            <div class="part-name">{part.name}</div>
            <div class="number">
              {duration(part.ms)} <span class="muted">{percent(total > 0 ? part.ms / total : 0)}</span>
            </div>
            <div class="bar">
              <i
                style={{
                  width: `${total > 0 ? (100 * part.ms) / total : 0}%`,
                  background: part.color ?? "var(--accent)",
                }}
              />
            </div>
            {part.more && <div class="muted small">{part.more}</div>}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Verdicts({ cause }: { cause: ClusterDetails }) {
  const parts = Object.entries(cause.verdict_ms)
    .sort(([, a], [, b]) => b - a)
    .map(([word, ms]): Part => ({
      key: word,
      name: <b>{word}</b>,
      ms,
      more: kVerdicts[word] ?? "",
      color: verdictColor(word),
    }));
  return <Parts title="Why" term="verdict" parts={parts} />;
}

export function Owners({ samples }: { samples: CauseSamples }) {
  const parts = samples.owners.map((owner, i): Part => {
    const frames = owner.stack.slice(0, 4).map((index) => shortName(samples.frames[index]?.function ?? ""));
    return {
      key: `${i}`,
      name: <b class="mono">{shortName(owner.at || "no stack")}</b>,
      ms: owner.hang_ms,
      more: `${owner.kind} held by thread ${owner.name}, ${plural(owner.reports, "report")}: ${frames.join(" ← ")}`,
      color: "var(--verdict-lock)",
    };
  });
  return <Parts title="Owners of the lock" term="owner" parts={parts} />;
}

// A cause's parts differ by the frames that follow its own: its callers.
export function Callers({ cause }: { cause: ClusterDetails }) {
  const parts = cause.children.map((child): Part => {
    const callers = child.frames.slice(cause.frames.length);
    return {
      key: child.key,
      name: (
        <a class="mono" href={`/causes/${child.key}`}>
          {callers.length > 0 ? callers.map(shortName).join(" ← ") : "no caller known"}
        </a>
      ),
      ms: child.estimated.hang_ms,
      more: plural(child.hangs, "hang"),
    };
  });
  return <Parts title="Called by" term="cause" parts={parts} />;
}

export function Tags({ samples }: { samples: CauseSamples }) {
  const parts = samples.tags.map((tag): Part => ({
    key: `${tag.loop}\n${tag.tag}`,
    name: <span class="mono">{tag.tag || "untagged"}</span>,
    ms: tag.hang_ms,
    more: `${tag.loop ? `loop ${tag.loop}, ` : ""}${plural(tag.reports, "report")}`,
  }));
  return <Parts title="Dispatches" term="dispatch" parts={parts} />;
}
