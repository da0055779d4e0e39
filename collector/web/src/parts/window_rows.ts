// SPDX-License-Identifier: Apache-2.0
// Virtual scrolling: renders only the rows of a long list near the visible part.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

const kSpareRows = 12;

export interface Span {
  readonly first: number;
  readonly end: number;
}

export function visibleSpan(listTop: number, viewHeight: number, rowHeight: number, rows: number): Span {
  const first = Math.floor(-listTop / rowHeight) - kSpareRows;
  const end = Math.ceil((viewHeight - listTop) / rowHeight) + kSpareRows;
  const within = (row: number): number => Math.min(Math.max(row, 0), rows);
  return { first: within(first), end: within(end) };
}

// Rows of one height in a list that scrolls with the page.
export function useVisibleSpan(list: RefObject<HTMLElement>, rows: number, rowHeight: number): Span {
  const measure = (): Span =>
    visibleSpan(list.current?.getBoundingClientRect().top ?? 0, window.innerHeight, rowHeight, rows);
  const [span, setSpan] = useState<Span>(measure);
  const update = (): void =>
    setSpan((before) => {
      const now = measure();
      return now.first === before.first && now.end === before.end ? before : now;
    });
  useLayoutEffect(update, [rows, rowHeight]);
  useEffect(() => {
    addEventListener("scroll", update, { passive: true });
    addEventListener("resize", update);
    return () => {
      removeEventListener("scroll", update);
      removeEventListener("resize", update);
    };
  }, [rows, rowHeight]);
  return { first: Math.min(span.first, rows), end: Math.min(span.end, rows) };
}

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = (): void => setMatches(list.matches);
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [query]);
  return matches;
}
