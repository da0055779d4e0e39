// SPDX-License-Identifier: Apache-2.0
// New reports as they come: the collector's server-sent events, read with fetch because EventSource sends no token.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ask } from "./client";
import type { ReportHeader } from "./types";

const kFirstPauseMs = 1_000;
const kLongestPauseMs = 30_000;
const kReloadPauseMs = 1_000;

export const isListening = signal(false);

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
  onEvent: (event: ServerEvent) => void,
): Promise<void> {
  const response = await ask("/v1/events", {
    signal: abort,
    headers: lastId === "" ? {} : { "Last-Event-ID": lastId },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  isListening.value = true;
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const { events, rest } = takeEvents(text + value);
    text = rest;
    events.forEach(onEvent);
  }
}

// Listens until it is told to stop; goes on where it was cut off.
export function listen(): () => void {
  const abort = new AbortController();
  let lastId = "";
  let pauseMs = kFirstPauseMs;
  const onEvent = (event: ServerEvent): void => {
    lastId = event.id;
    pauseMs = kFirstPauseMs;
    if (event.type !== "report") return;
    const report = JSON.parse(event.data) as ReportHeader;
    listeners.forEach((listener) => listener(report));
  };
  const run = async (): Promise<void> => {
    while (!abort.signal.aborted) {
      await readStream(abort.signal, lastId, onEvent).catch(() => undefined);
      isListening.value = false;
      if (abort.signal.aborted) return;
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

// Calls `reload` for new reports, but once a second at most.
export function useReloadOnReports(reload: () => void): void {
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const latest = useRef(reload);
  latest.current = reload;
  useNewReports(() => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, kReloadPauseMs);
  });
}
