// SPDX-License-Identifier: Apache-2.0
// The mark of a cause's state, unless that is "new" (not examined yet), and of a cause that came up lately.
import type { Cluster } from "../api/types";
import { day, moment } from "../format/times";

const kRecentMs = 7 * 86_400_000;

export function isRecent(cause: Pick<Cluster, "first_seen_ms">, nowMs = Date.now()): boolean {
  return nowMs - cause.first_seen_ms < kRecentMs;
}

export function StateMark({ cause }: { cause: Cluster }) {
  const since = `first seen ${moment(cause.first_seen_ms)}`;
  const fixedIn = cause.fixed_in ? ` in ${cause.fixed_in}` : "";
  return (
    <>
      {cause.state === "regressed" ? (
        <span class="mark regressed" title={`fixed${fixedIn}, and occurred again`}>
          regressed
        </span>
      ) : cause.state === "new" ? null : (
        <span class="mark">
          {cause.state}
          {cause.state === "fixed" && fixedIn}
        </span>
      )}
      {isRecent(cause) && (
        <span class="mark new" title={since}>
          since {day(cause.first_seen_ms)}
        </span>
      )}
    </>
  );
}
