// SPDX-License-Identifier: Apache-2.0
// New reports as they come: the collector's server-sent events, read with fetch because EventSource sends no token.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ask } from "./client";
import type { ReportHeader } from "./types";

const kFirstPauseMs = 1_000;
const kLongestPauseMs = 30_000;
const kReloadPauseMs = 1_000;
// The collector says something every 15 s: after so long a silence it is not there any more.
const kSilenceMs = 45_000;
// A short look at another tab does not disconnect the page.
const kAwayMs = 5_000;

export const isListening = signal(false);
// Incremented when reports may have arrived while the page did not listen.
export const gaps = signal(0);

type Listener = (report: ReportHeader) => void;
const listeners = new Set<Listener>();

export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

// Takes whole events off the front of `text`, as https://html.spec.whatwg.org/#event-stream-interpretation says.
export function takeEvents(text: string): { events: ServerEvent[]; rest: string } {
  const events: ServerEvent[] = [];
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  for (const block of blocks) {
    const event: ServerEvent = { id: "", type: "message", data: "" };
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon <= 0) continue;
      const value = line.slice(colon + 1).replace(/^ /, "");
      const field = line.slice(0, colon);
      if (field === "id") event.id = value;
      if (field === "event") event.type = value;
      if (field === "data") event.data += (event.data === "" ? "" : "\n") + value;
    }
    if (event.data !== "") events.push(event);
  }
  return { events, rest };
}

async function readStream(
  abort: AbortSignal,
  lastId: string,
  onOpen: () => void,
  onEvent: (event: ServerEvent) => void,
): Promise<void> {
  const response = await ask("/v1/events", {
    signal: abort,
    headers: lastId === "" ? {} : { "Last-Event-ID": lastId },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  onOpen();
  let text = "";
  for (;;) {
    const silence = setTimeout(() => void reader.cancel(), kSilenceMs);
    const { value, done } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    const { events, rest } = takeEvents(text + value);
    text = rest;
    events.forEach(onEvent);
  }
}

// Aborted when this tab was hidden for a while: a browser has six connections to a collector, for all tabs.
function whileSeen(): { signal: AbortSignal; end: () => void } {
  const away = new AbortController();
  let timer: number | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(() => away.abort(), kAwayMs);
  };
  document.addEventListener("visibilitychange", look);
  return {
    signal: away.signal,
    end: () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    },
  };
}

const untilSeen = (): Promise<void> =>
  new Promise((seen) => document.addEventListener("visibilitychange", () => seen(), { once: true }));

// Listens until the returned function is called; continues after interruptions.
export function listen(): () => void {
  const abort = new AbortController();
  let lastId = "";
  let pauseMs = kFirstPauseMs;
  let isFirst = true;
  const onOpen = (): void => {
    isListening.value = true;
    pauseMs = kFirstPauseMs;
    if (!isFirst) ++gaps.value;
    isFirst = false;
  };
  const onEvent = (event: ServerEvent): void => {
    lastId = event.id;
    if (event.type !== "report") return;
    const report = JSON.parse(event.data) as ReportHeader;
    listeners.forEach((listener) => listener(report));
  };
  const run = async (): Promise<void> => {
    while (!abort.signal.aborted) {
      if (document.hidden) {
        await untilSeen();
        continue;
      }
      const seen = whileSeen();
      await readStream(AbortSignal.any([abort.signal, seen.signal]), lastId, onOpen, onEvent).catch(
        () => undefined,
      );
      seen.end();
      isListening.value = false;
      if (abort.signal.aborted) return;
      if (seen.signal.aborted) continue;
      await new Promise((resume) => setTimeout(resume, pauseMs));
      pauseMs = Math.min(pauseMs * 2, kLongestPauseMs);
    }
  };
  void run();
  return () => abort.abort();
}

export function useNewReports(listener: Listener): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const forward: Listener = (report) => latest.current(report);
    listeners.add(forward);
    return () => {
      listeners.delete(forward);
    };
  }, []);
}

// Calls `reload` for new reports, but once a second at most, and never while an answer is under way.
export function useReloadOnReports(
  { reload, isLoading }: { reload: () => void; isLoading: boolean },
  isWanted: () => boolean = () => true,
): void {
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const latest = useRef({ reload, isLoading });
  latest.current = { reload, isLoading };
  const arm = (): void => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      if (latest.current.isLoading) arm();
      else latest.current.reload();
    }, kReloadPauseMs);
  };
  useNewReports(() => {
    if (isWanted()) arm();
  });
  const missed = gaps.value;
  useEffect(() => {
    if (missed > 0) arm();
  }, [missed]);
}
