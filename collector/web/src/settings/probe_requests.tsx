// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { duration, percent } from "../format/numbers";
import { probeRequestsOf, withValue, type ConfigObject, type ProbeRequest } from "./draft";

const kDurationS = 60;

export function ProbeRequests({
  draft,
  onDraft,
}: {
  draft: ConfigObject;
  onDraft: (draft: ConfigObject) => void;
}) {
  const [script, setScript] = useState("");
  const [app, setApp] = useState("");
  const [version, setVersion] = useState("");
  const requests = probeRequestsOf(draft["probe_requests"]);
  const put = (after: readonly ProbeRequest[]): void => onDraft(withValue(draft, "probe_requests", after));
  const isHash = /^[0-9a-f]{64}$/.test(script);
  const add = (): void => {
    const others = requests.filter(
      (each) => each.script !== script || (each.app ?? "") !== app || (each.app_version ?? "") !== version,
    );
    put([
      ...others,
      {
        script,
        ...(app === "" ? {} : { app }),
        ...(version === "" ? {} : { app_version: version }),
        duration_s: kDurationS,
      },
    ]);
    setScript("");
  };
  return (
    <fieldset>
      <legend>Probe requests</legend>
      <p class="muted small">
        Programs that were started with “--fleet-probes” run the script once in each start, if their list has
        it. Its hash is shown by “lagwatch probe-list”.
      </p>
      <div class="adder">
        <label>
          <span class="unseen">Script</span>
          <input
            name="probe-script"
            class="mono"
            placeholder="the script's SHA-256"
            value={script}
            onInput={(event) => setScript(event.currentTarget.value.trim())}
          />
        </label>
        <label>
          <span class="unseen">Program of the probe</span>
          <input
            name="probe-app"
            placeholder="any program"
            value={app}
            onInput={(event) => setApp(event.currentTarget.value.trim())}
          />
        </label>
        <label>
          <span class="unseen">Version of the probe</span>
          <input
            name="probe-version"
            placeholder="any version"
            value={version}
            onInput={(event) => setVersion(event.currentTarget.value.trim())}
          />
        </label>
        <button type="button" disabled={!isHash} onClick={add}>
          Add probe
        </button>
      </div>
      <ul class="chips">
        {requests.map((each) => (
          <li key={`${each.script} ${each.app ?? ""} ${each.app_version ?? ""}`}>
            <span class="mono">{each.script.slice(0, 12)}…</span> {each.app ?? "any program"}{" "}
            {each.app_version ?? "any version"}, {duration((each.duration_s ?? kDurationS) * 1000)}
            {each.user_share_ppm !== undefined && `, ${percent(each.user_share_ppm / 1e6)} of users`}
            <button
              type="button"
              class="quiet"
              aria-label={`Withdraw the probe ${each.script}`}
              onClick={() => put(requests.filter((other) => other !== each))}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}
