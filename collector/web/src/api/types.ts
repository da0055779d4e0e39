// SPDX-License-Identifier: Apache-2.0
// What the collector answers, as its OpenAPI file says (openapi.d.ts is made of it with each build).
import type { components } from "./openapi";

type Schemas = components["schemas"];
export type ClusterPart = Schemas["ClusterPart"];
export type Cluster = Schemas["Cluster"] & { readonly days?: readonly { readonly begin_ms: number; readonly hang_ms: number }[] };
export type ClusterDetails = Schemas["ClusterDetails"];
export type ClusterChange = Schemas["ClusterChange"];
export type Frame = Schemas["Frame"];
export type ReportHeader = Schemas["ReportHeader"];
export type Report = Schemas["Report"];
export type Use = Schemas["Use"];
export type Verdict = Schemas["Verdict"];
export type Wait = Schemas["Wait"];
export type Key = Schemas["Key"];
export type AddedKey = Schemas["AddedKey"];
export type Config = Schemas["Config"];
export type ConfigState = Schemas["ConfigState"];
export type AuditEntry = Schemas["AuditEntry"];
export type Usage = Schemas["Usage"];
// What the newest reports of a cause say, taken together.
export interface CauseSamples {
  readonly reports: number;
  readonly frames: readonly { readonly function: string; readonly module: string; readonly file?: string | null; readonly line?: number | null }[];
  readonly stacks: readonly (readonly number[])[];
  readonly samples: readonly { readonly stack: number; readonly ms: number }[];
  readonly tags: readonly { readonly loop: string; readonly tag: string; readonly reports: number; readonly hang_ms: number }[];
  readonly owners: readonly { readonly at: string; readonly name: string; readonly kind: string; readonly reports: number; readonly hang_ms: number; readonly stack: readonly number[] }[];
}
export type DayUsage = Pick<Usage, "app" | "version" | "users" | "watched_ms" | "lags" | "lagged_ms" | "lagged_ms_per_hour"> & { readonly day_ms: number };
