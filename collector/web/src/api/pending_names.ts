// SPDX-License-Identifier: Apache-2.0
// Functions' names that come a moment after their report.
import { useEffect, useRef } from "preact/hooks";
import type { Resource } from "./resource";

const kPauseMs = 1500;
const kMostTimes = 20;

// Asks again while names are being looked up, and gives up after half a minute.
export function usePendingNames<T>(resource: Resource<T>, isPending: (data: T) => boolean): void {
  const { data, reload } = resource;
  const times = useRef(0);
  useEffect(() => {
    if (data === null || !isPending(data)) {
      times.current = 0;
      return undefined;
    }
    if (++times.current > kMostTimes) return undefined;
    const timer = setTimeout(reload, kPauseMs);
    return () => clearTimeout(timer);
  }, [data, reload]);
}
