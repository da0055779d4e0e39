// SPDX-License-Identifier: Apache-2.0
// The words of the page, from docs/glossary.md.
import { useLocation } from "preact-iso";
import { useEffect, useMemo, useState } from "preact/hooks";
import text from "../../../../docs/glossary.md?raw";
import { useTitle } from "../parts/use_title";
import { entriesOf, type Entry, type Part } from "./glossary_text";
import "./glossary.css";

const kEntries = entriesOf(text);

function Inline({ part }: { part: Part }) {
  if (part.kind === "code") return <code>{part.text}</code>;
  if (part.kind === "word") return <em>{part.text}</em>;
  if (part.kind === "term") return <a href={`#${part.anchor}`}>{part.text}</a>;
  return <>{part.text}</>;
}

function Term({ entry, isTarget }: { entry: Entry; isTarget: boolean }) {
  return (
    <div id={entry.anchor} class={isTarget ? "target" : undefined}>
      <dt>{entry.name}</dt>
      <dd>
        {entry.parts.map((part, i) => (
          <Inline key={i} part={part} />
        ))}
      </dd>
    </div>
  );
}

// The term that the address names, and the way there: the browser looks for it before the page is drawn.
function useTarget(): string {
  const { url } = useLocation();
  const [target, setTarget] = useState(location.hash.slice(1));
  useEffect(() => {
    const go = (): void => setTarget(location.hash.slice(1));
    go();
    addEventListener("hashchange", go);
    return () => removeEventListener("hashchange", go);
  }, [url]);
  useEffect(() => {
    if (target !== "") document.getElementById(target)?.scrollIntoView({ block: "center" });
  }, [target]);
  return target;
}

export function GlossaryPage() {
  useTitle("Glossary");
  const target = useTarget();
  const [term, setTerm] = useState("");
  const shown = useMemo(() => {
    const wanted = term.toLowerCase();
    return kEntries.filter((entry) =>
      [entry.name, ...entry.parts.map((part) => part.text)].join(" ").toLowerCase().includes(wanted),
    );
  }, [term]);
  return (
    <>
      <div class="title">
        <h1>Glossary</h1>
        <p class="summary">The words of reports and of this page</p>
        <label>
          <span class="unseen">Find a word</span>
          <input
            type="search"
            placeholder="Find a word"
            value={term}
            onInput={(event) => setTerm(event.currentTarget.value)}
          />
        </label>
      </div>
      <section class="card">
        {shown.length === 0 && <p class="muted">No entry has this text.</p>}
        <dl class="glossary">
          {shown.map((entry) => (
            <Term key={entry.anchor} entry={entry} isTarget={entry.anchor === target} />
          ))}
        </dl>
      </section>
    </>
  );
}
