// SPDX-License-Identifier: Apache-2.0
// A heat map of dispatches by duration and time of day, and the same numbers as a table.
import { Fragment } from "preact";
import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import { useResource } from "../api/resource";
import type { HourUsage, Usage } from "../api/types";
import { count } from "../format/numbers";
import { Shown } from "../parts/states";
import { Table } from "../parts/table";
import { Term } from "../parts/term";
import { durationName, heatOf, heatRows, kHours, type HeatRow } from "./heat";
import "./heat_map.css";

const kHourNames = Array.from({ length: kHours }, (_, hour) => `${hour}`.padStart(2, "0"));

// A small number is not shown as 0.
const shown = (perHour: number | null | undefined): string =>
  perHour && perHour > 0 && perHour < 0.05 ? "< 0.1" : count(perHour);

function Cells({ rows }: { rows: readonly HeatRow[] }) {
  const values = rows.flatMap((row) =>
    row.perHour.filter((each): each is number => each !== null && each > 0),
  );
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return (
    <div
      class="heat"
      role="img"
      aria-label="Dispatches in an hour of use by duration and time of day; the table below has the numbers"
    >
      {[...rows].reverse().map((row) => (
        <Fragment key={row.fromMs}>
          <span class="heat-name">{durationName(row.fromMs)}</span>
          {row.perHour.map((each, hour) => (
            <i
              key={hour}
              class={each === null ? "unwatched" : undefined}
              style={{ "--heat": `${(100 * heatOf(each, least, most)).toFixed(1)}%` }}
              title={`${kHourNames[hour]}:00, ${durationName(row.fromMs)}: ${each === null ? "no use" : `${shown(each)} in an hour of use`}`}
            />
          ))}
        </Fragment>
      ))}
      <span class="heat-name" />
      {kHourNames.map((name, hour) => (
        <span key={hour} class="heat-hour">
          {hour % 3 === 0 && name}
        </span>
      ))}
    </div>
  );
}

function Numbers({ rows }: { rows: readonly HeatRow[] }) {
  return (
    <details>
      <summary class="small">As a table</summary>
      <Table
        label="Dispatches in an hour of use"
        columns={["Time of day", ...rows.map((row) => ({ number: durationName(row.fromMs) }))]}
      >
        {kHourNames.map((name, hour) => (
          <tr key={hour}>
            <th scope="row">{name}:00</th>
            {rows.map((row) => (
              <td key={row.fromMs} class="number">
                {shown(row.perHour[hour])}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </details>
  );
}

function Heat({ hours }: { hours: readonly HourUsage[] }) {
  const rows = useMemo(() => heatRows(hours), [hours]);
  if (rows.length === 0) return <p class="muted">No timed dispatch was reported in these days.</p>;
  return (
    <>
      <Cells rows={rows} />
      <p class="muted small">
        The stronger the colour, the more dispatches in an hour of use, on a logarithmic scale; a row ends
        where the next one begins. Times are of your zone. A usage record counts in all hours that it covers.
      </p>
      <Numbers rows={rows} />
    </>
  );
}

// `usages`: of the program's versions.
export function HeatMap({ app, fromMs, usages }: { app: string; fromMs: number; usages: readonly Usage[] }) {
  const loops = [...new Set(usages.flatMap((each) => each.loops.map((one) => one.loop)))].sort();
  const [chosen, setLoop] = useState("");
  const loop = loops.includes(chosen) ? chosen : "";
  const hours = useResource(`hours of ${app} ${fromMs} ${loop}`, (abort) =>
    get<HourUsage[]>("/v1/usage", { by: "hour", app, loop, from_ms: fromMs, limit: 10_000 }, abort),
  );
  return (
    <section class="card">
      <div class="title">
        <h2>
          <Term of="dispatch">Dispatches</Term> by duration and time of day
        </h2>
        {loops.length > 1 && (
          <select
            name="loop"
            aria-label="Loop"
            value={loop}
            onChange={(event) => setLoop(event.currentTarget.value)}
          >
            <option value="">all loops</option>
            {loops.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        )}
      </div>
      <Shown resource={hours} what="the hours">
        {(all) => <Heat hours={all} />}
      </Shown>
    </section>
  );
}
