// SPDX-License-Identifier: Apache-2.0
// The clients' config: edited as a draft, reviewed as a difference, then saved as a new, signed version.
import { useState } from "preact/hooks";
import { change, get } from "../api/client";
import type { ConfigState } from "../api/types";
import { ago, moment } from "../format/times";
import { Dialog } from "../parts/dialog";
import { ErrorBox } from "../parts/states";
import { CaptureRequests } from "./capture_requests";
import { DiffView } from "./diff_view";
import { asText, numberProblem, textsOf, withValue, type ConfigObject, type Range } from "./draft";
import { settingsOf, type KnownSetting } from "./known_settings";
import { ProbeRequests } from "./probe_requests";

interface EditProps {
  draft: ConfigObject;
  onDraft: (draft: ConfigObject) => void;
}

function NumberField({
  setting,
  range,
  draft,
  onDraft,
  onProblem,
}: EditProps & { setting: KnownSetting; range: Range; onProblem: (problem: string | null) => void }) {
  const value = draft[setting.name];
  const [wrong, setWrong] = useState<string | null>(null);
  const text = wrong ?? (value === undefined ? "" : String(value));
  const problem = numberProblem(text, range);
  const onInput = (typed: string): void => {
    const found = numberProblem(typed, range);
    onProblem(found);
    setWrong(found === null ? null : typed);
    if (found === null) onDraft(withValue(draft, setting.name, typed === "" ? undefined : Number(typed)));
  };
  const id = `setting-${setting.name}`;
  return (
    <div class="setting">
      <label for={id}>{setting.label}</label>
      <div class="with-unit">
        <input
          id={id}
          name={setting.name}
          inputMode="numeric"
          value={text}
          placeholder={setting.whenUnset}
          aria-invalid={problem !== null}
          aria-describedby={`${id}-says`}
          onInput={(event) => onInput(event.currentTarget.value.trim())}
        />
        <span class="muted">{setting.unit}</span>
      </div>
      <p id={`${id}-says`} class={problem ? "bad small" : "muted small"}>
        {problem
          ? `Must be ${problem}.`
          : text !== "" && setting.says
            ? `${setting.says(Number(text))}. ${setting.help}`
            : `${setting.help} ${range.least} to ${range.most}.`}
      </p>
    </div>
  );
}

function Allowlist({ draft, onDraft }: EditProps) {
  const [user, setUser] = useState("");
  const users = textsOf(draft["allowlist"]);
  const put = (after: readonly string[]): void => onDraft(withValue(draft, "allowlist", after));
  const add = (): void => {
    const name = user.trim();
    if (name !== "" && !users.includes(name)) put([...users, name]);
    setUser("");
  };
  return (
    <fieldset>
      <legend>Allowlist</legend>
      <p class="muted small">All reports of these users are sent at once, without sampling and quotas.</p>
      <div class="adder">
        <label>
          <span class="unseen">User</span>
          <input
            name="allowlist-user"
            placeholder="user"
            value={user}
            onInput={(event) => setUser(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), add())}
          />
        </label>
        <button type="button" onClick={add}>
          Add user
        </button>
      </div>
      <ul class="chips">
        {users.map((each) => (
          <li key={each}>
            <span>{each}</span>
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${each} from the allowlist`}
              onClick={() => put(users.filter((other) => other !== each))}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

// Keys without a field of their own: edited as JSON.
function AsJson({
  draft,
  onDraft,
  hasProblem,
  onProblem,
}: EditProps & { hasProblem: boolean; onProblem: (problem: string | null) => void }) {
  const [text, setText] = useState<string | null>(null);
  const onInput = (typed: string): void => {
    setText(typed);
    try {
      const parsed: unknown = JSON.parse(typed);
      if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
        throw new Error("it must be a JSON object");
      onProblem(null);
      onDraft(parsed as ConfigObject);
    } catch (error) {
      onProblem((error as Error).message);
    }
  };
  return (
    <details>
      <summary>The whole config as JSON, with overrides by program and version</summary>
      <label>
        <span class="unseen">Config</span>
        <textarea
          class="mono"
          name="config-json"
          rows={14}
          spellcheck={false}
          value={text ?? asText(draft)}
          onInput={(event) => onInput(event.currentTarget.value)}
          onBlur={() => {
            if (!hasProblem) setText(null);
          }}
        />
      </label>
    </details>
  );
}

function History({ state, onChanged }: { state: ConfigState; onChanged: () => void }) {
  const [wanted, setWanted] = useState<{ version: number; config: ConfigObject } | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const look = (version: number): void => {
    get<{ config: ConfigObject }>(`/v1/admin/config/${version}`).then(
      ({ config }) => setWanted({ version, config }),
      setError,
    );
  };
  const rollBack = async (): Promise<void> => {
    await change("POST", "/v1/admin/config/rollback", { version: wanted?.version });
    onChanged();
  };
  const isSame = wanted !== null && asText(wanted.config) === asText(state.config as ConfigObject | null);
  return (
    <section class="card">
      <h2>History</h2>
      {error && <ErrorBox error={error} />}
      {state.history.length === 0 && <p class="muted">No version was saved so far.</p>}
      <ul class="history">
        {state.history.map((each) => (
          <li key={each.version}>
            <b>{each.version}</b>{" "}
            <span class="muted" title={moment(each.wall_ms)}>
              {ago(each.wall_ms)}
            </span>
            {each.version === state.version ? (
              <span class="mark new">now</span>
            ) : (
              <button onClick={() => look(each.version)}>Restore …</button>
            )}
          </li>
        ))}
      </ul>
      {wanted && (
        <Dialog
          title={`Restore version ${wanted.version}?`}
          action="Restore"
          canAct={!isSame}
          onAct={rollBack}
          onClose={() => setWanted(null)}
        >
          <p class="muted small">
            {isSame
              ? "It equals the current config."
              : "It becomes a new version, which clients receive at their next poll."}
          </p>
          <DiffView before={state.config as ConfigObject | null} after={wanted.config} />
        </Dialog>
      )}
    </section>
  );
}

export function ConfigForm({ state, onChanged }: { state: ConfigState; onChanged: () => void }) {
  const saved = (state.config ?? {}) as ConfigObject;
  const [draft, setDraft] = useState<ConfigObject>(saved);
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const [isSaving, setSaving] = useState(false);
  const ranges = new Map(state.settings.map((range) => [range.name, range]));
  const isChanged = asText(draft) !== asText(saved);
  const onProblem =
    (name: string) =>
    (problem: string | null): void =>
      setProblems((before) => {
        const after = new Map(before);
        if (problem === null) after.delete(name);
        else after.set(name, problem);
        return after;
      });
  const save = async (): Promise<void> => {
    await change("PUT", "/v1/admin/config", draft, `"${state.version}"`);
    onChanged();
  };
  return (
    <>
      <form
        class="card config"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged && problems.size === 0) setSaving(true);
        }}
      >
        <h2>
          Config of clients{" "}
          <span class="muted small">{state.version === 0 ? "none so far" : `version ${state.version}`}</span>
        </h2>
        {settingsOf(state.settings.map((range) => range.name)).map(({ group, settings }) => (
          <fieldset key={group}>
            <legend>{group}</legend>
            <div class="settings">
              {settings.map((setting) => (
                <NumberField
                  key={setting.name}
                  setting={setting}
                  range={ranges.get(setting.name)!}
                  draft={draft}
                  onDraft={setDraft}
                  onProblem={onProblem(setting.name)}
                />
              ))}
            </div>
          </fieldset>
        ))}
        <Allowlist draft={draft} onDraft={setDraft} />
        <CaptureRequests draft={draft} onDraft={setDraft} />
        <ProbeRequests draft={draft} onDraft={setDraft} />
        <fieldset>
          <legend>Emergency</legend>
          <label class="check">
            <input
              type="checkbox"
              name="is_killed"
              checked={draft["is_killed"] === true}
              onChange={(event) => setDraft(withValue(draft, "is_killed", event.currentTarget.checked))}
            />
            <span>Turn lagwatch off in all programs: nothing is watched, written or sent</span>
          </label>
        </fieldset>
        <AsJson
          draft={draft}
          onDraft={setDraft}
          hasProblem={problems.has("JSON")}
          onProblem={onProblem("JSON")}
        />
        {problems.has("JSON") && (
          <p class="bad small" role="alert">
            The JSON is invalid: {problems.get("JSON")}
          </p>
        )}
        <div class="actions">
          <button type="button" disabled={!isChanged} onClick={onChanged}>
            Discard
          </button>
          <button class="main" type="submit" disabled={!isChanged || problems.size > 0}>
            Review the changes …
          </button>
        </div>
      </form>
      {isSaving && (
        <Dialog
          title="Save these changes?"
          action="Sign and save"
          onAct={save}
          onClose={() => setSaving(false)}
        >
          <p class="muted small">
            They become a new version, signed by this collector. Clients receive it at their next poll, or
            when they send.
          </p>
          <DiffView before={saved} after={draft} />
        </Dialog>
      )}
      <History state={state} onChanged={onChanged} />
    </>
  );
}
