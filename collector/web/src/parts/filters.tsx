// SPDX-License-Identifier: Apache-2.0
// The filters, kept in the address, so that the page can be shared.
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { get, withQuery, type Params } from "../api/client";
import { useResource } from "../api/resource";
import type { Values } from "../api/types";
import { kVerdicts } from "./verdict_words";

const kMsPerDay = 86_400_000;
export const kFilterNames = [
  "q",
  "app",
  "version",
  "new_in",
  "verdict",
  "state",
  "kind",
  "distribution",
  "os",
  "loop",
  "tag",
  "user",
  "days",
] as const;
type FilterName = (typeof kFilterNames)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

export function useFilters(): [Filters, (changed: Filters) => void] {
  const { path, query, route } = useLocation();
  const filters = Object.fromEntries(
    kFilterNames.flatMap((name) => (query[name] ? [[name, query[name]]] : [])),
  ) as Filters;
  // Of two that change at once, the second sees what the first did.
  const change = (changed: Filters): void =>
    route(withQuery(path, { ...Object.fromEntries(new URLSearchParams(location.search)), ...changed }), true);
  return [filters, change];
}

// Those that select reports, without those that select causes.
export function reportParams({ q: _q, state: _state, new_in: version, ...others }: Params): Params {
  return version ? { ...others, version } : others;
}

// Those of an address that select reports, as the API has them.
export function reportFilters(query: Record<string, string>): Record<string, string> {
  const names = ["app", "version", "verdict", "kind", "distribution", "os", "loop", "tag", "user"];
  return Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
}

// As the API has them: days are whole ones, up to now.
export function filterParams({ days, new_in, ...rest }: Filters): Params {
  // Versions of different programs have no order.
  const others = rest.app && new_in ? { ...rest, new_in } : rest;
  const wanted = Number(days);
  const today = Math.floor(Date.now() / kMsPerDay) * kMsPerDay;
  return wanted > 0 ? { ...others, from_ms: today - (wanted - 1) * kMsPerDay } : others;
}

interface FieldProps {
  name: FilterName;
  label: string;
  known: readonly string[];
  filters: Filters;
  onChange: (changed: Filters) => void;
}

// Text that takes effect a moment after the last key.
function TextFilter({ name, label, known, filters, onChange }: FieldProps) {
  const now = filters[name] ?? "";
  const [text, setText] = useState(now);
  useEffect(() => setText(now), [now]);
  useEffect(() => {
    if (text === now) return;
    const timer = setTimeout(() => onChange({ [name]: text }), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class={now === "" ? "filter" : "filter set"}>
      <span>{label}</span>
      <input
        type="search"
        name={name}
        value={text}
        list={`known-${name}`}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <datalist id={`known-${name}`}>
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}

const kWideFilters: readonly (readonly [FilterName & keyof Values, string])[] = [
  ["distribution", "Distribution"],
  ["os", "Kernel or system"],
  ["loop", "Loop"],
  ["tag", "Dispatch"],
  ["kind", "Kind"],
  ["user", "User"],
];

export function FilterBar({
  filters,
  onChange,
  hasText,
}: {
  filters: Filters;
  onChange: (changed: Filters) => void;
  hasText: boolean;
}) {
  const [isWide, setWide] = useState(Boolean(filters.new_in) || kWideFilters.some(([name]) => filters[name]));
  const app = filters.app ?? "";
  const known = useResource(`values ${app}`, (abort) => get<Values>("/v1/values", { app }, abort)).data;
  const [clearings, setClearings] = useState(0); // which also take text away that has no effect yet
  const isSet = Object.keys(filters).length > 0;
  const field = { filters, onChange };
  return (
    <form key={clearings} class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {hasText && <TextFilter name="q" label="Search functions and titles" known={[]} {...field} />}
      <TextFilter name="app" label="Program" known={known?.app ?? []} {...field} />
      <TextFilter name="version" label="Version" known={known?.version ?? []} {...field} />
      <label class={filters.verdict ? "filter set" : "filter"}>
        <span>Verdict</span>
        <select
          name="verdict"
          value={filters.verdict ?? ""}
          onChange={(event) => onChange({ verdict: event.currentTarget.value })}
        >
          <option value="">any</option>
          {Object.keys(kVerdicts).map((word) => (
            <option key={word} value={word}>
              {word}
            </option>
          ))}
        </select>
      </label>
      {hasText && (
        <label class={filters.state ? "filter set" : "filter"}>
          <span>State</span>
          <select
            name="state"
            value={filters.state ?? ""}
            onChange={(event) => onChange({ state: event.currentTarget.value })}
          >
            <option value="">open</option>
            <option value="all">all</option>
            <option value="new">new</option>
            <option value="known">known</option>
            <option value="regressed">regressed</option>
            <option value="fixed">fixed</option>
            <option value="ignored">ignored</option>
          </select>
        </label>
      )}
      <label class={filters.days ? "filter set" : "filter"}>
        <span>Time</span>
        <select
          name="days"
          value={filters.days ?? ""}
          onChange={(event) => onChange({ days: event.currentTarget.value })}
        >
          <option value="">all</option>
          <option value="1">today</option>
          <option value="7">7 days</option>
          <option value="30">30 days</option>
          <option value="90">90 days</option>
        </select>
      </label>
      {isWide && hasText && filters.app && (
        <TextFilter name="new_in" label="New in version" known={known?.version ?? []} {...field} />
      )}
      {isWide &&
        kWideFilters.map(([name, label]) => (
          <TextFilter key={name} name={name} label={label} known={known?.[name] ?? []} {...field} />
        ))}
      {!isWide && (
        <button type="button" class="quiet" onClick={() => setWide(true)}>
          More filters
        </button>
      )}
      {isSet && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            setClearings(clearings + 1);
            onChange(Object.fromEntries(kFilterNames.map((name) => [name, ""])));
          }}
        >
          Clear
        </button>
      )}
    </form>
  );
}
