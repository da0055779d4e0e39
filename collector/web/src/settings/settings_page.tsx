// SPDX-License-Identifier: Apache-2.0
// The settings, for admins. Each part is loaded again when it is selected.
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { get } from "../api/client";
import { useResource } from "../api/resource";
import { isAdmin } from "../api/session";
import type { ConfigState } from "../api/types";
import { Empty, Shown } from "../parts/states";
import { useTitle } from "../parts/use_title";
import { AuditLog } from "./audit_log";
import { ConfigForm } from "./config_form";
import { DeletionsForm } from "./deletions_form";
import { KeysForm } from "./keys_form";
import "./settings.css";

const kParts: readonly [string, string][] = [
  ["clients", "Clients"],
  ["keys", "Keys"],
  ["deletions", "Deletions"],
  ["audit", "Audit log"],
];

function Clients() {
  const state = useResource("config", (abort) => get<ConfigState>("/v1/admin/config", {}, abort));
  const [turn, setTurn] = useState(0);
  const beginAnew = (): void => {
    state.reload();
    setTurn(turn + 1);
  };
  return (
    <Shown resource={state} what="the config">
      {(config) => <ConfigForm key={`${config.version} ${turn}`} state={config} onChanged={beginAnew} />}
    </Shown>
  );
}

export function SettingsPage() {
  useTitle("Settings");
  const { query } = useLocation();
  const part = query["part"] ?? "clients";
  if (!isAdmin()) return <Empty title="Settings need an admin token" />;
  return (
    <>
      <div class="title">
        <h1>Settings</h1>
        <nav class="switch-links" aria-label="Settings">
          {kParts.map(([name, label]) => (
            <a key={name} href={`/settings?part=${name}`} aria-current={part === name ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </div>
      {part === "clients" && <Clients />}
      {part === "keys" && <KeysForm />}
      {part === "deletions" && <DeletionsForm />}
      {part === "audit" && <AuditLog />}
    </>
  );
}
