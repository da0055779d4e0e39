// SPDX-License-Identifier: Apache-2.0
// The first screen of a collector that nothing was sent to: three lines that connect a program.
import { useState } from "preact/hooks";
import { base } from "../api/base";
import { change } from "../api/client";
import { isListening, useNewReports } from "../api/live";
import { isAdmin } from "../api/session";
import type { AddedKey, ReportHeader } from "../api/types";
import { CopyButton } from "../parts/copy_button";
import { ErrorBox } from "../parts/states";

const kUnknownKey = "…the project key…";

export function ConnectSteps() {
  const [key, setKey] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [came, setCame] = useState<ReportHeader | null>(null);
  useNewReports(setCame);
  const lines = [
    `export LAGWATCH_ENDPOINT=${location.origin}${base}`,
    `export LAGWATCH_KEY=${key ?? kUnknownKey}`,
    "lagwatch run -- your-program",
  ];
  const makeKey = (): void => {
    const name = `page-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}`;
    change<AddedKey>("POST", "/v1/admin/keys", { name, access: "project" }).then(
      (added) => setKey(added.key),
      setError,
    );
  };
  return (
    <section class="connect card">
      <h1>Connect a program</h1>
      <p>Three lines, without a change of your code:</p>
      <div class="lines">
        <pre tabIndex={0} aria-label="Commands">
          {lines.join("\n")}
        </pre>
        <CopyButton text={lines.join("\n")} />
      </div>
      {key === null && (
        <p>
          The project key is in <code>key</code> in the collector's data directory.{" "}
          {isAdmin() && (
            <>
              Or <button onClick={makeKey}>make a new one</button>
            </>
          )}
        </p>
      )}
      {key !== null && (
        <p>This key is shown only now. Programs can send reports with it, and nothing else.</p>
      )}
      {error && <ErrorBox error={error} />}
      <p class="muted">
        A dispatch of the program's loop that takes longer than two seconds is reported. To see a report at
        once: <code>lagwatch run --dump-signal USR2 -- your-program</code>, then{" "}
        <code>lagwatch dump PID</code>.
      </p>
      <p class="waiting" role="status">
        <i class={isListening.value ? "pulse on" : "pulse"} aria-hidden="true" />{" "}
        {came ? (
          <a href={`/reports/${came.id}`}>A report of {came.app} is here</a>
        ) : isListening.value ? (
          "Waiting for the first report; it appears here automatically"
        ) : (
          "Connecting …"
        )}
      </p>
    </section>
  );
}
