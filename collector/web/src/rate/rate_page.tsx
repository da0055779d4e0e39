// SPDX-License-Identifier: Apache-2.0
// The hang rate, in seconds per hour of use, by version and day.
import { useState } from "preact/hooks";
import { get } from "../api/client";
import { useResource } from "../api/resource";
import type { DayUsage, Usage, ValueUsage } from "../api/types";
import { count, duration, rate } from "../format/numbers";
import { ago } from "../format/times";
import { Chart, type Line } from "../parts/chart";
import { exitCounts } from "../parts/exits";
import { Empty, Shown } from "../parts/states";
import { useFilters } from "../parts/filters";
import { Table } from "../parts/table";
import { useTitle } from "../parts/use_title";
import { HeatMap } from "./heat_map";

const kMsPerDay = 86_400_000;
const kMostLines = 6;
const kMostValues = 100; // of a key
const kColors = [
  "--accent",
  "--verdict-cpu",
  "--verdict-network",
  "--verdict-lock",
  "--verdict-disk",
  "--verdict-starved",
];

type Measure = keyof Usage["hang_ms_per_hour"];
const kMeasures: readonly [Measure, string, string][] = [
  ["all", "All users", "all hang time by all watched time"],
  ["p50", "Median user", "half of the users have less"],
  ["p90", "90th percentile", "one user in ten has more"],
];

const byVersion = (a: string, b: string): number => a.localeCompare(b, undefined, { numeric: true });

export function linesOf(days: readonly DayUsage[], measure: Measure): { daysMs: number[]; lines: Line[] } {
  const daysMs = [...new Set(days.map((each) => each.day_ms))].sort((a, b) => a - b);
  const watched = new Map<string, number>();
  for (const each of days) watched.set(each.version, (watched.get(each.version) ?? 0) + each.watched_ms);
  const versions = [...watched]
    .sort(([, a], [, b]) => b - a)
    .slice(0, kMostLines)
    .map(([version]) => version)
    .sort(byVersion);
  const lines = versions.map((version, i): Line => {
    const byDay = new Map(
      days
        .filter((each) => each.version === version)
        .map((each) => [each.day_ms, each.hang_ms_per_hour[measure]]),
    );
    return { name: version, values: daysMs.map((ms) => byDay.get(ms) ?? null), color: kColors[i]! };
  });
  return { daysMs, lines };
}

function Trend({ app, fromMs }: { app: string; fromMs: number }) {
  const [measure, setMeasure] = useState<Measure>("all");
  const usage = useResource(`days of ${app} ${fromMs}`, (abort) =>
    get<DayUsage[]>("/v1/usage", { by: "day", app, from_ms: fromMs, limit: 10_000 }, abort),
  );
  return (
    <section class="card">
      <div class="title">
        <h2>Hang time per hour of use, by day</h2>
        <div class="switch" role="group" aria-label="Users">
          {kMeasures.map(([each, name, meaning]) => (
            <button
              key={each}
              aria-pressed={measure === each}
              title={meaning}
              onClick={() => setMeasure(each)}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      <Shown resource={usage} what="the days">
        {(all) =>
          all.length === 0 ? (
            <p class="muted">No use was reported in these days.</p>
          ) : (
            <Chart
              label={`Hang rate of ${app} by version and day`}
              {...linesOf(all, measure)}
              format={rate}
              height={280}
            />
          )
        }
      </Shown>
    </section>
  );
}

function VersionTable({ usages }: { usages: readonly Usage[] }) {
  return (
    <section class="card">
      <h2>Versions</h2>
      <Table
        label="Versions"
        columns={[
          "Version",
          { number: "All users", term: "hang-rate" },
          { number: "Median user", term: "median-user" },
          { number: "90th percentile", term: "90th-percentile" },
          { number: "In the background", term: "in-the-background" },
          { number: "Hangs", term: "hang" },
          { number: "Hang time", term: "hang-time" },
          { number: "Watched", term: "watched-time" },
          { number: "Users", term: "user" },
          "Runs ended by",
          "Last seen",
        ]}
      >
        {usages.map((each) => (
          <tr key={each.app + each.version}>
            <th scope="row">
              <a href={`/?app=${encodeURIComponent(each.app)}&version=${encodeURIComponent(each.version)}`}>
                {each.version || "no version"}
              </a>
            </th>
            <td class="number">
              <b>{rate(each.hang_ms_per_hour.all)}</b>
            </td>
            <td class="number">{rate(each.hang_ms_per_hour.p50)}</td>
            <td class="number">{rate(each.hang_ms_per_hour.p90)}</td>
            <td class="number">{rate(each.background.hang_ms_per_hour)}</td>
            <td class="number">{count(each.hangs)}</td>
            <td class="number">{duration(each.hang_ms)}</td>
            <td class="number">{duration(each.watched_ms)}</td>
            <td class="number">{count(each.users)}</td>
            <td>{exitCounts(each.exits) || "–"}</td>
            <td class="nowrap">{ago(each.last_seen_ms)}</td>
          </tr>
        ))}
      </Table>
      <p class="muted small">
        Rates are estimates for all users: a sampled user stands for others, too. Hangs and times are those
        received. Time in the background counts in all of them, and has a rate of its own.
      </p>
    </section>
  );
}

// The values that the program gives to its keys; nothing where it names none.
function ValueTables({ app, fromMs }: { app: string; fromMs: number }) {
  const usage = useResource(`values of ${app} ${fromMs}`, (abort) =>
    get<ValueUsage[]>("/v1/usage", { by: "value", app, from_ms: fromMs, limit: kMostValues + 1 }, abort),
  );
  return (
    <Shown resource={usage} what="the values">
      {(all) =>
        [...new Set(all.map((each) => each.key))].map((key) => {
          const values = all.filter((each) => each.key === key);
          return (
            <section class="card" key={key}>
              <h2>By {key}</h2>
              <Table
                label={`Hang rate by ${key}`}
                columns={[
                  "Value",
                  { number: "All users", term: "hang-rate" },
                  { number: "Median user", term: "median-user" },
                  { number: "90th percentile", term: "90th-percentile" },
                  { number: "Hangs", term: "hang" },
                  { number: "Hang time", term: "hang-time" },
                  { number: "Watched", term: "watched-time" },
                  { number: "Users", term: "user" },
                ]}
              >
                {values.slice(0, kMostValues).map((each) => (
                  <tr key={each.value}>
                    <th scope="row">{each.value || "not set"}</th>
                    <td class="number">
                      <b>{rate(each.hang_ms_per_hour.all)}</b>
                    </td>
                    <td class="number">{rate(each.hang_ms_per_hour.p50)}</td>
                    <td class="number">{rate(each.hang_ms_per_hour.p90)}</td>
                    <td class="number">{count(each.hangs)}</td>
                    <td class="number">{duration(each.hang_ms)}</td>
                    <td class="number">{duration(each.watched_ms)}</td>
                    <td class="number">{count(each.users)}</td>
                  </tr>
                ))}
              </Table>
              {values.length > kMostValues && (
                <p class="muted small">These are the {kMostValues} values with the most watched time.</p>
              )}
            </section>
          );
        })
      }
    </Shown>
  );
}

export function RatePage() {
  useTitle("Hang rate");
  const [filters, setFilters] = useFilters();
  const usage = useResource("usage", (abort) => get<Usage[]>("/v1/usage", { limit: 1000 }, abort));
  const days = Number(filters.days) > 0 ? Number(filters.days) : 30;
  return (
    <>
      <div class="title">
        <h1>Hang rate</h1>
        <p class="summary">Part of the time of use in which users waited</p>
      </div>
      <Shown resource={usage} what="the usage of versions">
        {(all) => {
          if (all.length === 0)
            return (
              <Empty title="No usage was reported so far">
                <p>
                  Programs report their usage now and then, also without hangs.{" "}
                  <a href="/connect">Connect a program</a>
                </p>
              </Empty>
            );
          const apps = [...new Set(all.map((each) => each.app))];
          const app = filters.app && apps.includes(filters.app) ? filters.app : apps[0]!;
          const usages = all.filter((each) => each.app === app);
          const fromMs = (Math.floor(Date.now() / kMsPerDay) - days + 1) * kMsPerDay;
          return (
            <>
              <form class="filters" onSubmit={(event) => event.preventDefault()}>
                <label class="filter">
                  <span>Program</span>
                  <select
                    name="app"
                    value={app}
                    onChange={(event) => setFilters({ app: event.currentTarget.value })}
                  >
                    {apps.map((each) => (
                      <option key={each} value={each}>
                        {each}
                      </option>
                    ))}
                  </select>
                </label>
                <label class="filter">
                  <span>Time</span>
                  <select
                    name="days"
                    value={`${days}`}
                    onChange={(event) => setFilters({ days: event.currentTarget.value })}
                  >
                    <option value="7">7 days</option>
                    <option value="30">30 days</option>
                    <option value="90">90 days</option>
                  </select>
                </label>
              </form>
              <Trend app={app} fromMs={fromMs} />
              <HeatMap app={app} fromMs={fromMs} usages={usages} />
              <ValueTables app={app} fromMs={fromMs} />
              <VersionTable usages={usages.sort((a, b) => byVersion(b.version, a.version))} />
            </>
          );
        }}
      </Shown>
    </>
  );
}
