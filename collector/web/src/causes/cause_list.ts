// SPDX-License-Identifier: Apache-2.0
// The causes that match, page after page as the reader goes down.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, withQuery, type Params } from "../api/client";
import type { Cluster } from "../api/types";
import { percent } from "../format/numbers";

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

// Causes that the newest version does not have come last.
export function sunk(causes: readonly Cluster[]): Cluster[] {
  return [
    ...causes.filter((cause) => !cause.not_seen_since),
    ...causes.filter((cause) => cause.not_seen_since),
  ];
}

// The plug-in, library or package that spent the time of a cause, where the program is not all of it. A program may be called by another name than its file's; a plug-in is a library.
export function packagesText({ packages }: Cluster): string {
  const first = packages?.[0];
  if (!first || (packages.length === 1 && !/\.(so|dylib)\b/.test(first.package))) return "";
  return packages
    .slice(0, 2)
    .map((each) => `${percent(each.share)} in ${each.package}`)
    .join(", ");
}

const kSampledReports = 3;
const kMostSampledCauses = 100;

// Asked for when the list is there, because reports are read for it.
export function usePackages(causes: readonly Cluster[] | null, params: Params): ReadonlyMap<string, string> {
  const [texts, setTexts] = useState<ReadonlyMap<string, string>>(new Map());
  const limit = Math.min(causes?.length ?? 0, kMostSampledCauses);
  const key = withQuery("", { ...params, limit });
  useEffect(() => {
    if (limit === 0) return undefined;
    const asked = new AbortController();
    get<Cluster[]>("/v1/clusters", { ...params, limit, packages: kSampledReports }, asked.signal).then(
      (list) => setTexts(new Map(list.map((cause) => [cause.key, packagesText(cause)]))),
      () => undefined, // the list is complete without
    );
    return () => asked.abort();
  }, [key]);
  return texts;
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
