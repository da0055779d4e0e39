// SPDX-License-Identifier: Apache-2.0
import { get } from "../api/client";
import { useResource } from "../api/resource";
import type { AuditEntry } from "../api/types";
import { ago, moment } from "../format/times";
import { Shown } from "../parts/states";
import { Table } from "../parts/table";

export function AuditLog() {
  const audit = useResource("audit", (abort) => get<AuditEntry[]>("/v1/admin/audit", { limit: 200 }, abort));
  return (
    <section class="card">
      <h2>Changes</h2>
      <Shown resource={audit} what="the audit log">
        {(entries) =>
          entries.length === 0 ? (
            <p class="muted">No changes so far.</p>
          ) : (
            <Table label="Audit log" columns={["When", "Who", "What", "Of", "Details"]}>
              {entries.map((entry, i) => (
                <tr key={i}>
                  <td title={moment(entry.wall_ms)}>{ago(entry.wall_ms)}</td>
                  <td>{entry.by}</td>
                  <td>{entry.action}</td>
                  <td class="mono">{entry.subject}</td>
                  <td class="mono muted">{entry.details ? JSON.stringify(entry.details) : ""}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </section>
  );
}
