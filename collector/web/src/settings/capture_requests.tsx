// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { duration } from "../format/numbers";
import { requestsOf, withValue, type CaptureRequest, type ConfigObject } from "./draft";

export function CaptureRequests({
  draft,
  onDraft,
}: {
  draft: ConfigObject;
  onDraft: (draft: ConfigObject) => void;
}) {
  // A report's page asks for its own cause.
  const [cluster, setCluster] = useState(() => new URLSearchParams(location.search).get("capture") ?? "");
  const [version, setVersion] = useState("");
  const requests = requestsOf(draft["capture_requests"]);
  const put = (after: readonly CaptureRequest[]): void =>
    onDraft(withValue(draft, "capture_requests", after));
  const isKey = /^[0-9a-f]{1,16}$/.test(cluster);
  const add = (): void => {
    const others = requests.filter(
      (each) => each.cluster !== cluster || (each.app_version ?? "") !== version,
    );
    put([...others, { cluster, ...(version === "" ? {} : { app_version: version }) }]);
    setCluster("");
    setVersion("");
  };
  return (
    <fieldset>
      <legend>Capture requests</legend>
      <p class="muted small">
        Programs that record (option “trace”) send a trace with the next hang of the cause. Its key is a
        report's “cause_key”.
      </p>
      <div class="adder">
        <label>
          <span class="unseen">Cause key</span>
          <input
            name="capture-cluster"
            class="mono"
            placeholder="cause key, hexadecimal"
            value={cluster}
            onInput={(event) => setCluster(event.currentTarget.value.trim())}
          />
        </label>
        <label>
          <span class="unseen">Version</span>
          <input
            name="capture-version"
            placeholder="version, or any"
            value={version}
            onInput={(event) => setVersion(event.currentTarget.value.trim())}
          />
        </label>
        <button type="button" disabled={!isKey} onClick={add}>
          Add request
        </button>
      </div>
      <ul class="chips">
        {requests.map((each) => (
          <li key={`${each.cluster} ${each.app_version ?? ""}`}>
            <span class="mono">{each.cluster}</span> {each.app_version ?? "any version"}
            {each.interval_us !== undefined && `, every ${duration(each.interval_us / 1000)}`}
            <button
              type="button"
              class="quiet"
              aria-label={`Withdraw the request for ${each.cluster}`}
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
