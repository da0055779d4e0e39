// SPDX-License-Identifier: Apache-2.0
// The hangs of a cause, or of all, by distribution, kernel, program version and so on, each a link to what it names.
import { useState } from "preact/hooks";
import { get, withQuery, type Params } from "../api/client";
import { useResource } from "../api/resource";
import type { CauseBreakdown } from "../api/types";
import { duration, percent, plural } from "../format/numbers";
import { Shown } from "../parts/states";
import "./cause.css";

type Name = Exclude<keyof CauseBreakdown, "all">;
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
const kLeastSeconds = [5, 10, 20, 60];

type LinkOf = (part: Params) => string;

function Part({ name, part, linkOf }: { name: Name; part: CauseBreakdown[Name]; linkOf: LinkOf }) {
  return (
    <ul class="breakdown">
      {part.values.map((each) => (
        <li key={each.value}>
          <div class="part-name mono">
            <a href={linkOf({ [name]: each.value })}>{each.value || "not known"}</a>
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

// Shows whether the hangs are those of one user.
function Users({ all }: { all: CauseBreakdown["all"] }) {
  if (all.hangs === 0) return <p class="muted small">No hangs match.</p>;
  return (
    <p class="muted small users-of">
      {plural(all.hangs, "hang")} of {plural(all.users, "user")}
      {all.users > 1 && `; the user with the most time has ${percent(all.largest_user_share)} of it`}
    </p>
  );
}

// `path` is that of the API, `revision` changes with the reports; `linkOf` makes the address of a part.
export function Breakdown({
  path,
  filters,
  revision,
  linkOf,
}: {
  path: string;
  filters: Params;
  revision: number;
  linkOf: LinkOf;
}) {
  const [name, setName] = useState<Name>("distribution");
  const [leastMs, setLeastMs] = useState("");
  const params: Params = { ...filters, least_ms: leastMs };
  const parts = useResource(withQuery(path, params) + revision, (abort) =>
    get<CauseBreakdown>(path, params, abort),
  );
  return (
    <section class="card parts">
      <div class="title">
        <h2>Breakdown</h2>
        <label class={leastMs === "" ? "filter" : "filter set"}>
          <span>Lasted</span>
          <select name="least_ms" value={leastMs} onChange={(event) => setLeastMs(event.currentTarget.value)}>
            <option value="">any time</option>
            {kLeastSeconds.map((seconds) => (
              <option key={seconds} value={String(seconds * 1000)}>
                {seconds} s or more
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="tabs" role="group" aria-label="Breakdown by">
        {kNames.map(([each, title]) => (
          <button key={each} aria-pressed={name === each} onClick={() => setName(each)}>
            {title}
          </button>
        ))}
      </div>
      <Shown resource={parts} what="the breakdown">
        {(all) => (
          <>
            <Users all={all.all} />
            <Part name={name} part={all[name]} linkOf={linkOf} />
          </>
        )}
      </Shown>
    </section>
  );
}
