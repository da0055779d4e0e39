// SPDX-License-Identifier: Apache-2.0
// Probes that clients were asked for: the scripts, and what their clients have counted.
import { useLocation, useRoute } from "preact-iso";
import { get, withQuery } from "../api/client";
import { useResource } from "../api/resource";
import { isAdmin } from "../api/session";
import type { ProbeAnswers, ProbeScript } from "../api/types";
import { count, plural } from "../format/numbers";
import { ago } from "../format/times";
import { Empty, Shown } from "../parts/states";
import { Table } from "../parts/table";
import { useTitle } from "../parts/use_title";
import { ProbeTables } from "./probe_tables";
import "./probes.css";

export function ProbesPage() {
  useTitle("Probes");
  const scripts = useResource("probes", (abort) => get<ProbeScript[]>("/v1/probes", {}, abort));
  return (
    <>
      <div class="title">
        <h1>Probes</h1>
        <p class="summary">Questions that programs were asked, and what all of them have counted</p>
      </div>
      <Shown resource={scripts} what="the probes">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No program has answered a probe so far">
              <p>
                Programs that were started with “--fleet-probes” answer requests
                {isAdmin() ? (
                  <>
                    {" "}
                    that are made under <a href="/settings">Settings</a>
                  </>
                ) : (
                  " of an admin"
                )}
                .
              </p>
            </Empty>
          ) : (
            <section class="card">
              <Table
                label="Probes"
                columns={[
                  "Script",
                  { number: "Runs" },
                  { number: "Refused" },
                  { number: "Users", term: "user" },
                  "Newest",
                ]}
              >
                {all.map((each) => (
                  <tr key={each.script}>
                    <th scope="row">
                      <a href={`/probes/${each.script}`}>{each.name || each.script}</a>
                    </th>
                    <td class="number">{count(each.runs)}</td>
                    <td class="number">{count(each.refused)}</td>
                    <td class="number">{count(each.users)}</td>
                    <td class="nowrap">{ago(each.newest_wall_ms)}</td>
                  </tr>
                ))}
              </Table>
            </section>
          )
        }
      </Shown>
    </>
  );
}

function Refusals({ refusals }: { refusals: ProbeAnswers["refusals"] }) {
  if (refusals.length === 0) return null;
  return (
    <section class="card">
      <h2>Not run</h2>
      <Table label="Refusals" columns={["Reason", { number: "Answers" }]}>
        {refusals.map((each) => (
          <tr key={each.reason}>
            <th scope="row">{each.reason}</th>
            <td class="number">{count(each.count)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

// One version's results, or all.
function Versions({
  script,
  version,
  versions,
}: {
  script: string;
  version: string | undefined;
  versions: ProbeAnswers["versions"];
}) {
  const { route } = useLocation();
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label class="filter">
        <span>Version</span>
        <select
          name="version"
          value={version ?? ""}
          onChange={(event) =>
            route(withQuery(`/probes/${script}`, { version: event.currentTarget.value }), true)
          }
        >
          <option value="">all</option>
          {[...new Set(versions.map((each) => each.version))].map((each) => (
            <option key={each} value={each}>
              {each || "no version"}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}

export function ProbePage() {
  const { params, query } = useRoute();
  const script = params["script"] ?? "";
  const { version } = query;
  const path = `/v1/probes/${script}`;
  const answers = useResource(`${path} ${version}`, (abort) => get<ProbeAnswers>(path, { version }, abort));
  const all = useResource(path, (abort) => get<ProbeAnswers>(path, {}, abort));
  useTitle(answers.data?.name || "Probe");
  return (
    <Shown resource={answers} what="the probe's results">
      {(known) => (
        <>
          <div class="title">
            <h1>{known.name || "Unknown script"}</h1>
            <p class="summary">
              {plural(known.runs, "run")} in programs of {plural(known.users, "user")}, {count(known.hits)}{" "}
              hits
              {known.left_out > 0 && `, ${count(known.left_out)} left out to stay within the budget`}
              {known.missed > 0 && `, ${count(known.missed)} missed`}
              {known.turned_off > 0 && `, turned off by its budget in ${plural(known.turned_off, "run")}`}
            </p>
            <p class="muted small mono">{known.script}</p>
          </div>
          <Versions script={script} version={version} versions={(all.data ?? known).versions} />
          <ProbeTables tables={known.tables} />
          <Refusals refusals={known.refusals} />
        </>
      )}
    </Shown>
  );
}
