// SPDX-License-Identifier: Apache-2.0
// Marks entries with implausible numbers.

export function OddMark({ odd }: { odd: readonly string[] }) {
  if (odd.length === 0) return null;
  return (
    <span class="mark odd" title={`These numbers are implausible: ${odd.join(", ")}`}>
      implausible
    </span>
  );
}
