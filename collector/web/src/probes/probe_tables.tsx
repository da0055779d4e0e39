// SPDX-License-Identifier: Apache-2.0
// The tables of a probe, with the rows of all clients added up: as a table, as histograms, as a flame graph.
import { useMemo } from "preact/hooks";
import type { ProbeTable } from "../api/types";
import { count, duration } from "../format/numbers";
import { Flame } from "../parts/flame";
import type { TimedStack } from "../parts/flame_tree";
import { Table } from "../parts/table";
import { isStack, keyText, numberOf, stacksOf } from "./probe_values";

const kMostShown = 100; // rows

type Row = ProbeTable["rows"][number];

const shown = (value: number | null, unit: string): string =>
  unit === "ns" ? duration(value === null ? null : value / 1e6) : count(value);

function Buckets({ row, unit }: { row: Row; unit: string }) {
  const buckets = row.buckets ?? [];
  const most = Math.max(...buckets.map((each) => each.count));
  return (
    <Table label="Histogram" class="histogram" columns={["From", { number: "Hits" }, { unseen: "Share" }]}>
      {buckets.map((each) => (
        <tr key={each.from}>
          <th scope="row">{each.from === null ? "less" : shown(each.from, unit)}</th>
          <td class="number">{count(each.count)}</td>
          <td class="share">
            <meter min={0} max={most} value={each.count} aria-hidden="true" />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Histograms({ table }: { table: ProbeTable }) {
  return (
    <>
      {table.rows.slice(0, kMostShown).map((row) => (
        <section key={JSON.stringify(row.key)}>
          {row.key.length > 0 && (
            <h3>
              {row.key.map(keyText).join(" · ")} <span class="muted small">{count(row.count)} hits</span>
            </h3>
          )}
          <Buckets row={row} unit={table.unit} />
        </section>
      ))}
    </>
  );
}

function FlameOf({ table }: { table: ProbeTable }) {
  const stacks = useMemo((): readonly TimedStack[] => stacksOf(table), [table]);
  return (
    <Flame
      stacks={stacks}
      label={`Stacks of ${table.name}`}
      orders={["left-heavy"]}
      show={(value) => shown(value, table.kind === "count" ? "" : table.unit)}
    />
  );
}

function Rows({ table }: { table: ProbeTable }) {
  const isAverage = table.kind === "avg";
  return (
    <Table
      label={table.name}
      columns={[...table.keys, { number: table.kind }, ...(isAverage ? [{ number: "Hits" }] : [])]}
    >
      {table.rows.slice(0, kMostShown).map((row) => (
        <tr key={JSON.stringify(row.key)}>
          {row.key.map((part, i) => (
            <th scope="row" key={i}>
              {keyText(part)}
            </th>
          ))}
          <td class="number">{shown(numberOf(table, row), table.kind === "count" ? "" : table.unit)}</td>
          {isAverage && <td class="number">{count(row.count)}</td>}
        </tr>
      ))}
    </Table>
  );
}

export function ProbeTables({ tables }: { tables: readonly ProbeTable[] }) {
  return (
    <>
      {tables.map((table) => (
        <section class="card" key={`${table.kind} ${table.name}`}>
          <h2>
            {table.name}
            {table.is_at_least && <span class="muted small"> at least: hits or rows are missing</span>}
          </h2>
          {table.rows.length === 0 ? (
            <p class="muted">Nothing was counted.</p>
          ) : table.kind === "histogram" ? (
            <Histograms table={table} />
          ) : table.rows.some((row) => row.key.some(isStack)) ? (
            <FlameOf table={table} />
          ) : (
            <Rows table={table} />
          )}
          {table.rows.length > kMostShown && (
            <p class="muted small">
              The first {kMostShown} of {count(table.rows.length)} rows; the API has more.
            </p>
          )}
        </section>
      ))}
    </>
  );
}
