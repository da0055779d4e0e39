// SPDX-License-Identifier: Apache-2.0
// The mark of a cause's state.
import type { Cluster } from "../api/types";
import { moment } from "../format/times";

const kNewForMs = 7 * 86_400_000;

export function isNew(cause: Pick<Cluster, "state" | "first_seen_ms">, nowMs = Date.now()): boolean {
  return cause.state === "new" && nowMs - cause.first_seen_ms < kNewForMs;
}

export function StateMark({ cause }: { cause: Cluster }) {
  const since = `first seen ${moment(cause.first_seen_ms)}`;
  if (isNew(cause))
    return (
      <span class="mark new" title={since}>
        new
      </span>
    );
  if (cause.state === "regressed")
    return (
      <span
        class="mark regressed"
        title={`fixed${cause.fixed_in ? ` in ${cause.fixed_in}` : ""}, and occurred again`}
      >
        regressed
      </span>
    );
  if (cause.state === "new") return null;
  return (
    <span class="mark" title={since}>
      {cause.state}
      {cause.state === "fixed" && cause.fixed_in ? ` in ${cause.fixed_in}` : ""}
    </span>
  );
}
