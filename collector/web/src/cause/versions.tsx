// SPDX-License-Identifier: Apache-2.0
// The cost of the cause per hour of each version's use, with its interval. The reader compares: whether two versions
// differ is not said.
import type { ClusterDetails } from "../api/types";
import { count, duration, rate } from "../format/numbers";
import { day, moment } from "../format/times";
import { Table } from "../parts/table";

type Version = NonNullable<ClusterDetails["by_version"]>[number];

// A bar up to the rate, and a line from one end of the interval to the other.
function Interval({ version, most }: { version: Version; most: number }) {
  const { hang_ms_per_hour: middle, hang_ms_per_hour_interval: interval } = version;
  const share = (value: number): string => `${Math.min(100, (100 * value) / most)}%`;
  return (
    <div class="interval" aria-hidden="true">
      <i style={{ width: share(middle ?? 0) }} />
      {interval && (
        <b
          style={{
            left: share(interval.low),
            width: `${Math.min(100, (100 * (interval.high - interval.low)) / most)}%`,
          }}
        />
      )}
    </div>
  );
}

export function intervalText(interval: Version["hang_ms_per_hour_interval"]): string {
  return interval ? `${duration(interval.low)} to ${duration(interval.high)}` : "–";
}

export function Versions({ cause }: { cause: ClusterDetails }) {
  const versions = cause.by_version ?? [];
  // The interval of a version that was hardly watched may be far wider than all rates: it is cut.
  const rates = versions.map((each) => each.hang_ms_per_hour ?? 0);
  const most = 2 * Math.max(...rates, 1e-9);
  return (
    <section class="card">
      <h2>Version by version</h2>
      <Table
        label="Versions"
        columns={[
          "Version",
          { text: "Hang time per hour of use", term: "hang-rate" },
          { number: "95 % interval", term: "95-interval" },
          { number: "Hangs", term: "hang" },
          { number: "Users", term: "user" },
          { number: "Watched", term: "watched-time" },
          "Seen",
        ]}
      >
        {versions.map((each) => (
          <tr key={each.app + each.version}>
            <td>
              {each.version} {cause.apps.length > 1 && <span class="muted">{each.app}</span>}
            </td>
            <td class="rate">
              {each.hang_ms_per_hour === 0 ? <span class="none">none</span> : rate(each.hang_ms_per_hour)}
              <Interval version={each} most={most} />
            </td>
            <td class="number">{intervalText(each.hang_ms_per_hour_interval)}</td>
            <td class="number">{count(each.hangs)}</td>
            <td class="number">{each.hangs > 0 ? count(each.users) : "–"}</td>
            <td class="number">{each.watched_ms > 0 ? duration(each.watched_ms) : "not known"}</td>
            <td title={`${moment(each.first_seen_ms)} to ${moment(each.last_seen_ms)}`}>
              {each.reports > 0 ? `${day(each.first_seen_ms)} to ${day(each.last_seen_ms)}` : "did not occur"}
            </td>
          </tr>
        ))}
      </Table>
      <p class="muted small">
        The interval holds the true rate in 95 of 100 cases, if hangs come independently of each other and the
        hangs of one user together. Versions whose intervals overlap may not differ.
      </p>
    </section>
  );
}
