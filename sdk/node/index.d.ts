// SPDX-License-Identifier: Apache-2.0
/** Finds the function that blocks Node's event loop. docs/node.md has examples. */
import type { IncomingMessage } from "node:http";
import type { EventLoopUtilityFunction } from "node:perf_hooks";
import type { Options } from "./options";

export type { Options };

export interface StartOptions extends Options {
  /**
   * Names each dispatch that serves an HTTP request by its method and path, without the query and numbers. A function
   * gives another name: one of few texts, without anything personal. Default: true.
   */
  http?: boolean | ((request: IncomingMessage) => string);
  /** Keeps the name of a request or label() after its awaits. false: it ends with its callback. Default: true. */
  labels?: boolean;
}

/**
 * Starts lagwatch in this process, and watches the calling thread's event loop; in a worker, only that.
 * Returns true, or false if it is off: see whyOff(). Throws a RangeError for an option that does not exist.
 */
export function start(options?: StartOptions): boolean;
/** Ends it, and waits up to flushMs for what is on disk to be sent. In a worker: ends the watch of its loop. */
export function stop(flushMs?: number): void;
/** Watches the calling thread's event loop, as start() does. Returns false if its waits cannot be seen. */
export function watch(name?: string): boolean;
/** Calls `work`, and names the dispatches that it runs in, also after its awaits. */
export function label<T>(text: string, work: () => T): T;
/** Calls `work`, which has a deadline of its own (default 2000 ms); until it returns, not until its promise is settled. */
export function scope<T>(name: string, work: () => T, options?: { deadlineMs?: number }): T;
export function isOn(): boolean;
/** The reason for which lagwatch is off, as a line for a log; empty if it is on. */
export function whyOff(): string;
/** The version of the library, as "0.2.0". */
export function version(): string;
/** Requests a report with the stacks of all threads. */
export function dump(reason: string): boolean;
/** The program is ready to be used; for reports of slow starts. */
export function ready(): void;
/** Sets the fact "app.KEY" of later reports; null removes it. It is sent: it must not name a person. */
export function setValue(key: string, value: string | null): boolean;
/** Gives the calling thread's loop thresholds of its own. */
export function setThresholds(thresholdMs: number, anrThresholdMs: number): void;
/** Counts of this process. */
export function stats(): { hangs: number; reportsWritten: number; reportsDropped: number; reportsUploaded: number };
/** performance.eventLoopUtilization() of the calling thread. */
export const eventLoopUtilization: EventLoopUtilityFunction;
