// SPDX-License-Identifier: Apache-2.0
// Causes as rows that open: a tree grid (https://www.w3.org/WAI/ARIA/apg/patterns/treegrid/), of which only the
// rows near the reader are made.
import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { below } from "../api/base";
import type { Cluster, ClusterPart } from "../api/types";
import { causeName, shortName } from "../format/frames";
import { count, duration, estimate, named, percent } from "../format/numbers";
import { Sparkline } from "../parts/sparkline";
import { StateMark } from "../parts/state_mark";
import { Term } from "../parts/term";
import { mainVerdict, VerdictWord } from "../parts/verdict";
import { useMedia, useVisibleSpan } from "../parts/window_rows";
import { kSparklineDays } from "./cause_list";

const kRowHeight = 56;
const kPhoneRowHeight = 92;

export interface Row {
  readonly cause: Cluster | ClusterPart;
  readonly whole: Cluster | null; // null: a part of the cause above
  readonly isOpen: boolean;
}

export function rowsOf(causes: readonly Cluster[], open: ReadonlySet<string>): Row[] {
  return causes.flatMap((cause) => {
    const isOpen = open.has(cause.key);
    const parts = isOpen
      ? cause.children.map((part): Row => ({ cause: part, whole: null, isOpen: false }))
      : [];
    return [{ cause, whole: cause, isOpen }, ...parts];
  });
}

const hasParts = (row: Row): boolean => row.whole !== null && row.whole.children.length > 0;

// The first and the last one.
function versionsText({ first_version: first, last_version: last }: Cluster | ClusterPart): string {
  return first === last ? (first ?? "") : `${first} … ${last}`;
}

function CauseCell({ row, parent, packages }: { row: Row; parent: Cluster | null; packages: string }) {
  const { cause, whole } = row;
  const frames = cause.frames;
  // The frames of a part that its cause does not have, which distinguish it from the others.
  const own = parent ? frames.slice(parent.frames.length) : frames.slice(1);
  const name = parent ? (own[0] ?? frames[frames.length - 1] ?? causeName(cause)) : causeName(whole ?? cause);
  const rest = [...(parent ? own.slice(1) : own), ...(cause.via ? [`via ${cause.via}`] : [])];
  return (
    <div role="gridcell" class="what">
      <div class="name">
        {parent && <span class="muted">called by </span>}
        <b title={frames.join("\n")}>{shortName(name)}</b>
        {whole && <StateMark cause={whole} />}
      </div>
      <div class="callers" title={frames.join("\n")}>
        {whole?.title
          ? frames.map(shortName).join(" ← ")
          : rest.map((each) => `← ${shortName(each)}`).join(" ") || whole?.apps.join(", ")}
        {packages && <span class="in-package"> · {packages}</span>}
        {cause.held_by.length > 0 && <span class="held"> · held by {shortName(cause.held_by[0]!)}</span>}
      </div>
    </div>
  );
}

interface RowProps {
  row: Row;
  parent: Cluster | null;
  index: number;
  top: number;
  mostMs: number;
  packages: string;
  isCurrent: boolean;
  lastMs: number;
  onToggle: () => void;
  onFocus: () => void;
}

function CauseRow({
  row,
  parent,
  index,
  top,
  mostMs,
  packages,
  isCurrent,
  lastMs,
  onToggle,
  onFocus,
}: RowProps) {
  const { cause, whole, isOpen } = row;
  const { route } = useLocation();
  const verdict = mainVerdict(cause.verdict_ms);
  const address = `/causes/${cause.key}`;
  const canOpen = hasParts(row);
  return (
    <div
      role="row"
      class={`cause ${whole ? "level1" : "level2"}`}
      style={{ top: `${top}px` }}
      aria-rowindex={index + 2}
      aria-level={whole ? 1 : 2}
      aria-expanded={canOpen ? isOpen : undefined}
      tabIndex={isCurrent ? 0 : -1}
      data-row={index}
      onFocus={onFocus}
      onClick={(event) => {
        if (!(event.target as Element).closest("a,button")) route(below(address));
      }}
    >
      <div role="gridcell" class="opener">
        {canOpen && (
          <button
            class="quiet"
            tabIndex={-1}
            aria-label={isOpen ? "Close" : "Show by caller"}
            onClick={onToggle}
          >
            {isOpen ? "▾" : "▸"}
          </button>
        )}
      </div>
      <div role="gridcell" class="cost">
        <a href={address} tabIndex={-1}>
          {duration(cause.estimated.hang_ms)}
        </a>
        <span class="muted"> {percent(cause.share)}</span>
        <div class="bar" aria-hidden="true">
          <i style={{ width: `${(100 * cause.estimated.hang_ms) / mostMs}%` }} />
        </div>
      </div>
      <CauseCell row={row} parent={parent} packages={packages} />
      <div role="gridcell" class="why">
        {verdict && <VerdictWord word={verdict} />}
      </div>
      <div role="gridcell" class="days">
        {whole && <Sparkline days={whole.days ?? []} shown={kSparklineDays} lastMs={lastMs} />}
      </div>
      <div role="gridcell" class="number">
        {estimate(cause.estimated.hangs)}
      </div>
      <div role="gridcell" class="number">
        {cause.users > 0 ? count(cause.users) : "–"}
        <span class="unit"> {cause.users === 1 ? "user" : "users"}</span>
      </div>
      <div role="gridcell" class="number">
        {duration(cause.duration_ms.p95)}
      </div>
      <div role="gridcell" class="versions" title={named(cause.versions, cause.more_versions, 50)}>
        {versionsText(cause)}
        {whole?.not_seen_since && <div class="muted small">not seen since</div>}
      </div>
    </div>
  );
}

interface RowsProps {
  causes: readonly Cluster[];
  packages: ReadonlyMap<string, string>; // by cause
  hasAll: boolean;
  onEnd: () => void;
}

export function CauseRows({ causes, packages, hasAll, onEnd }: RowsProps) {
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState(0);
  const { route } = useLocation();
  const rowHeight = useMedia("(max-width: 760px)") ? kPhoneRowHeight : kRowHeight;
  const rows = rowsOf(causes, open);
  const span = useVisibleSpan(list, rows.length, rowHeight);
  useEffect(() => {
    if (!hasAll && span.end > rows.length - 30) onEnd();
  }, [span.end, rows.length, hasAll, causes]);

  const toggle = (key: string): void =>
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  const focusOn = (index: number): void => {
    const row = Math.min(Math.max(index, 0), rows.length - 1);
    setCurrent(row);
    const top = (list.current?.getBoundingClientRect().top ?? 0) + row * rowHeight;
    if (top < 120) scrollBy(0, top - 120);
    else if (top + rowHeight > innerHeight) scrollBy(0, top + rowHeight - innerHeight);
    // Once it is made.
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-row="${row}"]`)?.focus({ preventScroll: true }),
    );
  };
  const ownerOf = (index: number): number => {
    let at = index;
    while (at > 0 && rows[at]?.whole === null) --at;
    return at;
  };
  const onKey = (event: KeyboardEvent): void => {
    // Rows may have changed places since one got the focus.
    const focused = (event.target as Element).closest<HTMLElement>("[data-row]");
    const at = focused ? Number(focused.dataset["row"]) : current;
    const row = rows[at];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 3);
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    };
    const target = moves[event.key];
    if (target !== undefined) focusOn(target);
    else if (event.key === "Enter" && (event.target as HTMLElement).dataset["row"] !== undefined)
      route(below(`/causes/${row.cause.key}`));
    else if (event.key === "ArrowRight" && hasParts(row) && !row.isOpen) toggle(row.cause.key);
    else if (event.key === "ArrowRight" && row.isOpen) focusOn(at + 1);
    else if (event.key === "ArrowLeft" && row.isOpen) toggle(row.cause.key);
    else if (event.key === "ArrowLeft" && row.whole === null) focusOn(ownerOf(at));
    else return;
    event.preventDefault();
  };
  const mostMs = Math.max(...causes.map((cause) => cause.estimated.hang_ms), 1e-9);
  const now = Date.now();
  // One of the rows that are there can always be reached with the Tab key.
  const stop = Math.min(Math.max(current, span.first), span.end - 1);
  return (
    <div
      class="cause-grid"
      role="treegrid"
      aria-label="Causes, the costliest first"
      aria-rowcount={hasAll ? rows.length + 1 : -1}
      onKeyDown={onKey}
    >
      <div role="row" class="head" aria-rowindex={1}>
        <span role="columnheader" class="opener">
          <span class="unseen">By caller</span>
        </span>
        <span role="columnheader" title="Time that users waited, estimated for all users">
          <Term inGrid of="hang-time">
            Hang time
          </Term>
        </span>
        <span role="columnheader">
          <Term inGrid of="cause">
            Cause (innermost first)
          </Term>
        </span>
        <span role="columnheader">
          <Term inGrid of="verdict">
            Verdict
          </Term>
        </span>
        <span role="columnheader">{kSparklineDays} days</span>
        <span role="columnheader" class="number">
          <Term inGrid of="hang">
            Hangs
          </Term>
        </span>
        <span role="columnheader" class="number">
          <Term inGrid of="user">
            Users
          </Term>
        </span>
        <span role="columnheader" class="number" title="One hang in twenty lasted longer">
          p95
        </span>
        <span role="columnheader">Versions</span>
      </div>
      <div ref={list} role="rowgroup" class="rows" style={{ height: `${rows.length * rowHeight}px` }}>
        {rows.slice(span.first, span.end).map((row, i) => {
          const index = span.first + i;
          return (
            <CauseRow
              key={row.cause.key}
              row={row}
              parent={row.whole ? null : (rows[ownerOf(index)]?.whole ?? null)}
              index={index}
              top={index * rowHeight}
              mostMs={mostMs}
              packages={packages.get(row.cause.key) ?? ""}
              isCurrent={index === stop}
              lastMs={now}
              onToggle={() => toggle(row.cause.key)}
              onFocus={() => setCurrent(index)}
            />
          );
        })}
      </div>
    </div>
  );
}
