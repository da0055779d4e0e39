// SPDX-License-Identifier: Apache-2.0
// The config as it is edited, and its errors.
import type { ConfigState } from "../api/types";

export type ConfigObject = Readonly<Record<string, unknown>>;
export type Range = ConfigState["settings"][number];

export interface CaptureRequest {
  readonly cluster: string;
  readonly app_version?: string;
  readonly interval_us?: number;
}

export interface ProbeRequest {
  readonly script: string;
  readonly app?: string;
  readonly app_version?: string;
  readonly user_share_ppm?: number;
  readonly duration_s?: number;
}

// A key without a value is not there: the program's own option holds.
export function withValue(config: ConfigObject, name: string, value: unknown): ConfigObject {
  const { [name]: _, ...others } = config;
  const isNone = value === undefined || value === false || (Array.isArray(value) && value.length === 0);
  return isNone ? others : { ...others, [name]: value };
}

export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];

export const requestsOf = (value: unknown): readonly CaptureRequest[] =>
  Array.isArray(value) ? (value as CaptureRequest[]) : [];

export const probeRequestsOf = (value: unknown): readonly ProbeRequest[] =>
  Array.isArray(value) ? (value as ProbeRequest[]) : [];

export function numberProblem(text: string, range: Range): string | null {
  if (text === "") return null;
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value < range.least || value > range.most)
    return `a whole number from ${range.least} to ${range.most}`;
  return null;
}

// A line for each key, also of a config that has none.
export function asText(config: ConfigObject | null): string {
  const text = JSON.stringify(config ?? {}, null, 2);
  return text === "{}" ? "{\n}\n" : `${text}\n`;
}
