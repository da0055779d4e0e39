// SPDX-License-Identifier: Apache-2.0
// Shares of the time by the code that spent it: the program, its plug-ins, packages of scripts.
import { percent } from "../format/numbers";
import type { PackageShare } from "../api/types";

const kShown = 4;

export function Packages({ packages }: { packages: readonly PackageShare[] }) {
  if (packages.length === 0) return null;
  const shown = packages.slice(0, kShown);
  const rest = 1 - shown.reduce((sum, each) => sum + each.share, 0);
  return (
    <p class="packages" title="By the innermost function of the program's own in each sample">
      {shown.map((each, i) => (
        <span key={each.package}>
          {i > 0 && ", "}
          <b>{percent(each.share)}</b> in <span class="mono">{each.package}</span>
        </span>
      ))}
      {rest > 0.001 && <span class="muted">, {percent(rest)} elsewhere</span>}
    </p>
  );
}
