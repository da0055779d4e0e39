// SPDX-License-Identifier: Apache-2.0
// Deletions: past, in progress, and new ones.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import { useResource } from "../api/resource";
import type { Deletion } from "../api/types";
import { count } from "../format/numbers";
import { ago, moment } from "../format/times";
import { DeleteButton } from "../parts/delete_button";
import { Shown } from "../parts/states";
import { Table } from "../parts/table";

const kKinds: readonly [Deletion["kind"], string][] = [
  ["user", "all records of a user"],
  ["app", "all records of a program"],
  ["key", "all records sent with a key"],
  ["cluster", "a cause's reports, by its key"],
  ["report", "one report, by its id"],
];

function state(deletion: Deletion): string {
  if (deletion.ended_wall_ms !== null) return deletion.error ? `failed: ${deletion.error}` : "done";
  return deletion.error ? `waiting: ${deletion.error}` : "in progress";
}

function NewDeletion() {
  const [kind, setKind] = useState<Deletion["kind"]>("user");
  const [subject, setSubject] = useState("");
  return (
    <div class="new-deletion">
      <label>
        Delete
        <select
          name="deletion-kind"
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value as Deletion["kind"])}
        >
          {kKinds.map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        Its name
        <input
          name="deletion-subject"
          value={subject}
          maxLength={1024}
          onInput={(event) => setSubject(event.currentTarget.value)}
        />
      </label>
      {subject !== "" && (
        <DeleteButton
          key={`${kind} ${subject}`}
          kind={kind}
          subject={subject}
          what={`all records of the ${kind} “${subject}”`}
        />
      )}
    </div>
  );
}

export function DeletionsForm() {
  const deletions = useResource("deletions", (abort) => get<Deletion[]>("/v1/admin/deletions", {}, abort));
  const { reload } = deletions;
  useEffect(() => {
    const timer = setInterval(reload, 2000);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <section class="card">
      <h2>Deletions</h2>
      <NewDeletion />
      <Shown resource={deletions} what="deletions">
        {(all) =>
          all.length === 0 ? (
            <p class="muted">Nothing was deleted so far.</p>
          ) : (
            <Table
              label="Deletions"
              columns={[
                "When",
                "Who",
                "What",
                { number: "Reports" },
                { number: "Traces" },
                { number: "Others" },
                "State",
              ]}
            >
              {all.map((each) => (
                <tr key={each.id}>
                  <td title={moment(each.begun_wall_ms)}>{ago(each.begun_wall_ms)}</td>
                  <td>{each.by}</td>
                  <td class="mono">
                    {each.kind} {each.subject}
                  </td>
                  <td class="number">{count(each.reports)}</td>
                  <td class="number">{count(each.traces)}</td>
                  <td class="number">{count(each.others)}</td>
                  <td>{state(each)}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </section>
  );
}
