// SPDX-License-Identifier: Apache-2.0
// The keys, which permit sending, reading and changing.
import { useState } from "preact/hooks";
import { change, get } from "../api/client";
import { useResource } from "../api/resource";
import type { AddedKey, Key } from "../api/types";
import { bytes } from "../format/numbers";
import { ago, moment } from "../format/times";
import { CopyButton } from "../parts/copy_button";
import { Dialog } from "../parts/dialog";
import { Shown } from "../parts/states";
import { Table } from "../parts/table";

const kSecondsPerDay = 86_400;

function AddDialog({ onAdded, onClose }: { onAdded: (added: AddedKey) => void; onClose: () => void }) {
  const [name, setName] = useState("");
  const [access, setAccess] = useState<Key["access"]>("project");
  const [days, setDays] = useState("");
  const [perSecond, setPerSecond] = useState("");
  const [mibPerDay, setMibPerDay] = useState("");
  const add = async (): Promise<void> => {
    const isProject = access === "project";
    onAdded(
      await change<AddedKey>("POST", "/v1/admin/keys", {
        name: name.trim(),
        access,
        ...(days === "" ? {} : { expires_in_s: Math.round(Number(days) * kSecondsPerDay) }),
        ...(isProject && perSecond !== "" ? { reports_per_s: Number(perSecond) } : {}),
        ...(isProject && mibPerDay !== "" ? { bytes_per_day: Math.round(Number(mibPerDay) * 1048576) } : {}),
      }),
    );
  };
  return (
    <Dialog title="A new key" action="Create" canAct={name.trim() !== ""} onAct={add} onClose={onClose}>
      <label>
        Name
        <input
          name="key-name"
          value={name}
          required
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <label>
        It may
        <select
          name="key-access"
          value={access}
          onChange={(event) => setAccess(event.currentTarget.value as Key["access"])}
        >
          <option value="project">send reports (project)</option>
          <option value="read">read everything (read)</option>
          <option value="admin">read and change everything (admin)</option>
        </select>
      </label>
      <label>
        Expires after days
        <input
          name="key-days"
          type="number"
          min="0.01"
          step="any"
          placeholder="never"
          value={days}
          onInput={(event) => setDays(event.currentTarget.value)}
        />
      </label>
      {access === "project" && (
        <>
          <label>
            Limit of reports per second
            <input
              name="key-rate"
              type="number"
              min="1"
              placeholder="no limit"
              value={perSecond}
              onInput={(event) => setPerSecond(event.currentTarget.value)}
            />
          </label>
          <label>
            Limit of MiB per day
            <input
              name="key-mib"
              type="number"
              min="1"
              placeholder="no limit"
              value={mibPerDay}
              onInput={(event) => setMibPerDay(event.currentTarget.value)}
            />
          </label>
        </>
      )}
    </Dialog>
  );
}

function limitsOf(key: Key): string {
  return (
    [
      key.reports_per_s ? `${key.reports_per_s} reports/s` : "",
      key.bytes_per_day ? `${bytes(key.bytes_per_day)} a day` : "",
    ]
      .filter(Boolean)
      .join(", ") || "none"
  );
}

export function KeysForm() {
  const keys = useResource("keys", (abort) => get<Key[]>("/v1/admin/keys", {}, abort));
  const [isAdding, setAdding] = useState(false);
  const [added, setAdded] = useState<AddedKey | null>(null);
  const [revoked, setRevoked] = useState<Key | null>(null);
  const revoke = async (): Promise<void> => {
    await change("DELETE", `/v1/admin/keys/${encodeURIComponent(revoked?.name ?? "")}`);
    keys.reload();
  };
  return (
    <section class="card">
      <div class="title">
        <h2>Keys</h2>
        <span class="summary" />
        <button onClick={() => setAdding(true)}>New key …</button>
      </div>
      {added && (
        <div class="state good" role="status">
          <p>
            The key “{added.name}”. It is shown only now: <code class="new-key">{added.key}</code>{" "}
            <CopyButton text={added.key} />
          </p>
        </div>
      )}
      <Shown resource={keys} what="keys">
        {(all) => (
          <Table label="Keys" columns={["Name", "May", "Made", "Expires", "Quota", { unseen: "Actions" }]}>
            {all.map((key) => (
              <tr key={key.name}>
                <td>{key.name}</td>
                <td>{key.access}</td>
                <td title={moment(key.created_wall_ms)}>{ago(key.created_wall_ms)}</td>
                <td>{key.expires_wall_ms ? moment(key.expires_wall_ms) : "never"}</td>
                <td>{limitsOf(key)}</td>
                <td class="number">
                  <button class="bad" onClick={() => setRevoked(key)}>
                    Revoke …
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Shown>
      {isAdding && (
        <AddDialog
          onAdded={(key) => {
            setAdded(key);
            keys.reload();
          }}
          onClose={() => setAdding(false)}
        />
      )}
      {revoked && (
        <Dialog
          title={`Revoke “${revoked.name}”?`}
          action="Revoke"
          isBad
          onAct={revoke}
          onClose={() => setRevoked(null)}
        >
          <p>
            {revoked.access === "project"
              ? "Programs with this key cannot send reports from now on; they keep reports as long as their config says."
              : "Requests with it are refused from now on."}
          </p>
        </Dialog>
      )}
    </section>
  );
}
