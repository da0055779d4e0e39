// SPDX-License-Identifier: Apache-2.0
// The causes that match, page after page as the reader goes down.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, withQuery, type Params } from "../api/client";
import type { Cluster } from "../api/types";

export const kSparklineDays = 14;
const kPage = 100;
const kMostAtOnce = 1000;

export interface CauseList {
  readonly causes: readonly Cluster[] | null;
  readonly hasAll: boolean;
  readonly error: Error | null;
  readonly isLoading: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
}

interface State {
  key: string;
  causes: readonly Cluster[] | null;
  hasAll: boolean;
  error: Error | null;
}

// A cause may move between two pages while they are asked for: it is shown where it was first.
export function joined(known: readonly Cluster[], more: readonly Cluster[]): Cluster[] {
  const keys = new Set(known.map((cause) => cause.key));
  return [...known, ...more.filter((cause) => !keys.has(cause.key))];
}

// Replaces the first rows by the new ones; rows loaded after them stay.
export function refreshed(known: readonly Cluster[], first: readonly Cluster[], asked: number): Cluster[] {
  return first.length < asked ? [...first] : joined(first, known.slice(asked));
}

export function useCauseList(params: Params): CauseList {
  const key = withQuery("/v1/clusters", params);
  const [state, setState] = useState<State>({ key, causes: null, hasAll: false, error: null });
  const [isLoading, setLoading] = useState(false);
  const abort = useRef<AbortController | null>(null);
  const current = useRef(state);
  current.current = state;

  const load = useCallback(
    (offset: number, limit: number) => {
      abort.current?.abort();
      const asked = new AbortController();
      abort.current = asked;
      setLoading(true);
      get<Cluster[]>("/v1/clusters", { ...params, days: kSparklineDays, limit, offset }, asked.signal).then(
        (page) => {
          if (asked.signal.aborted) return;
          const before = current.current.key === key ? (current.current.causes ?? []) : [];
          setState({
            key,
            causes: offset === 0 ? refreshed(before, page, limit) : joined(before, page),
            hasAll: page.length < limit || (offset === 0 && before.length > limit && current.current.hasAll),
            error: null,
          });
          setLoading(false);
        },
        (error: unknown) => {
          if (asked.signal.aborted) return;
          const causes = current.current.key === key ? current.current.causes : null;
          setState({ key, causes, hasAll: false, error: error as Error });
          setLoading(false);
        },
      );
    },
    [key],
  );
  useEffect(() => {
    load(0, kPage);
    return () => abort.current?.abort();
  }, [load]);

  const isCurrent = state.key === key;
  const loaded = isCurrent ? (state.causes?.length ?? 0) : 0;
  return {
    causes: isCurrent ? state.causes : null,
    hasAll: isCurrent && state.hasAll,
    error: isCurrent ? state.error : null,
    isLoading,
    loadMore: () => {
      if (!isLoading && isCurrent && !state.hasAll && !state.error) load(loaded, kPage);
    },
    reload: () => load(0, Math.min(kMostAtOnce, Math.max(kPage, loaded))),
  };
}
