// SPDX-License-Identifier: Apache-2.0
// Types of the collector's answers, from its OpenAPI file (openapi.d.ts is made of it with each build).
import type { components } from "./openapi";

type Schemas = components["schemas"];
export type ClusterPart = Schemas["ClusterPart"];
export type Cluster = Schemas["Cluster"];
export type ClusterDetails = Schemas["ClusterDetails"];
export type ClusterChange = Schemas["ClusterChange"];
export type ClusterNote = Schemas["ClusterNote"];
export type Deletion = Schemas["Deletion"];
export type Frame = Schemas["Frame"];
export type ReportHeader = Schemas["ReportHeader"];
export type Report = Schemas["Report"];
export type TabledReport = Schemas["TabledReport"];
export type Exit = Schemas["Exit"];
export type TraceHeader = Schemas["TraceHeader"];
export type TraceFlame = Schemas["TraceFlame"];
export type ProbeScript = Schemas["ProbeScript"];
export type ProbeAnswers = Schemas["ProbeAnswers"];
export type ProbeTable = ProbeAnswers["tables"][number];
export type Wait = Schemas["Wait"];
export type Key = Schemas["Key"];
export type AddedKey = Schemas["AddedKey"];
export type ConfigState = Schemas["ConfigState"];
export type AuditEntry = Schemas["AuditEntry"];
export type Usage = Schemas["Usage"];
export type PackageShare = Schemas["PackageShare"];
export type CauseBreakdown = Schemas["ClusterBreakdown"];
export type Values = Schemas["Values"];
export type CauseSamples = Schemas["ClusterSamples"];
export type DayUsage = Schemas["UsageDay"];
export type ValueUsage = Schemas["UsageValue"];
export type Source = Schemas["Source"];
export type HourUsage = Schemas["UsageHour"];
