// SPDX-License-Identifier: Apache-2.0
// A cause's hangs by distribution, kernel, program version and so on, each a link to the reports that it names.
import { useState } from "preact/hooks";
import { get, withQuery } from "../api/client";
import { useResource } from "../api/resource";
import type { CauseBreakdown, ClusterDetails } from "../api/types";
import { duration, percent, plural } from "../format/numbers";
import { Shown } from "../parts/states";

type Name = keyof CauseBreakdown;
const kNames: readonly [Name, string][] = [
  ["distribution", "Distribution"],
  ["os", "Kernel or system"],
  ["version", "Version"],
  ["app", "Program"],
  ["loop", "Loop"],
  ["tag", "Dispatch"],
  ["verdict", "Verdict"],
  ["kind", "Kind"],
];

function Part({ name, part, cause }: { name: Name; part: CauseBreakdown[Name]; cause: string }) {
  return (
    <ul class="breakdown">
      {part.values.map((each) => (
        <li key={each.value}>
          <div class="part-name mono">
            <a href={withQuery(`/causes/${cause}`, { [name]: each.value })}>{each.value || "not known"}</a>
          </div>
          <div class="number">
            {duration(each.estimated.hang_ms)} <span class="muted">{percent(each.share)}</span>
          </div>
          <div class="bar">
            <i style={{ width: percentWidth(each.share) }} />
          </div>
          <div class="muted small">
            {plural(each.hangs, "hang")} of {plural(each.users, "user")}
          </div>
        </li>
      ))}
      {part.more > 0 && <li class="muted small">and {plural(part.more, "other")}</li>}
    </ul>
  );
}

const percentWidth = (share: number): string => `${100 * share}%`;

export function Breakdown({ cause, filters }: { cause: ClusterDetails; filters: Record<string, string> }) {
  const [name, setName] = useState<Name>("distribution");
  const path = `/v1/clusters/${cause.key}/breakdown`;
  const parts = useResource(withQuery(path, filters) + cause.reports, (abort) =>
    get<CauseBreakdown>(path, filters, abort),
  );
  return (
    <section class="card parts">
      <h2>Breakdown</h2>
      <div class="tabs" role="group" aria-label="Breakdown by">
        {kNames.map(([each, title]) => (
          <button key={each} aria-pressed={name === each} onClick={() => setName(each)}>
            {title}
          </button>
        ))}
      </div>
      <Shown resource={parts} what="the breakdown">
        {(all) => <Part name={name} part={all[name]} cause={cause.key} />}
      </Shown>
    </section>
  );
}
