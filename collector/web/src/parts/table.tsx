// SPDX-License-Identifier: Apache-2.0
// A table with its head, which scrolls sideways by itself where there is too little room.
import type { ComponentChildren } from "preact";
import { Term } from "./term";

// Its name; numbers stand to the right; a column of buttons has a name for the ear alone. `term`: its entry in the
// glossary.
export type Column =
  | string
  | { readonly number: string; readonly term?: string }
  | { readonly text: string; readonly term: string }
  | { readonly unseen: string };

function Head({ column }: { column: Column }) {
  if (typeof column === "string") return <th scope="col">{column}</th>;
  if ("unseen" in column)
    return (
      <th scope="col">
        <span class="unseen">{column.unseen}</span>
      </th>
    );
  const name = "number" in column ? column.number : column.text;
  return (
    <th scope="col" class={"number" in column ? "number" : undefined}>
      {column.term === undefined ? name : <Term of={column.term}>{name}</Term>}
    </th>
  );
}

interface TableProps {
  label: string;
  columns: readonly Column[];
  class?: string;
  children: ComponentChildren;
}

export function Table({ label, columns, class: name, children }: TableProps) {
  return (
    <div class="scroll-x" role="region" aria-label={label} tabIndex={0}>
      <table class={name}>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <Head key={i} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
