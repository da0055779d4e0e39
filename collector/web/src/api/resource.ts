// SPDX-License-Identifier: Apache-2.0
// A question's answer as a component's state. While it is asked again, the answer before stays.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Resource<T> {
  readonly data: T | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

// Loads again when `key` changes; an answer to an earlier key is not shown for a later one.
export function useResource<T>(key: string, load: (abort: AbortSignal) => Promise<T>): Resource<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: Error | null }>({
    key,
    data: null,
    error: null,
  });
  const [isLoading, setLoading] = useState(true);
  const latest = useRef(load);
  latest.current = load;
  const abort = useRef<AbortController | null>(null);

  const reload = useCallback(() => {
    abort.current?.abort();
    const asked = new AbortController();
    abort.current = asked;
    setLoading(true);
    latest.current(asked.signal).then(
      (data) => {
        if (asked.signal.aborted) return;
        setState({ key, data, error: null });
        setLoading(false);
      },
      (error: unknown) => {
        if (asked.signal.aborted) return;
        setState((before) => ({ key, data: before.key === key ? before.data : null, error: error as Error }));
        setLoading(false);
      },
    );
  }, [key]);

  useEffect(() => {
    reload();
    return () => abort.current?.abort();
  }, [reload]);

  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : null,
    error: isCurrent ? state.error : null,
    isLoading: isLoading || !isCurrent,
    reload,
  };
}
