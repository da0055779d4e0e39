// SPDX-License-Identifier: Apache-2.0
// An admin's annotations of a cause: name, state, merging.
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { below } from "../api/base";
import { change, get, getTagged, type Tagged } from "../api/client";
import { useResource } from "../api/resource";
import { isAdmin } from "../api/session";
import type { Cluster, ClusterChange, ClusterDetails, ClusterNote } from "../api/types";
import { causeName, shortName } from "../format/frames";
import { duration } from "../format/numbers";
import { DeleteButton } from "../parts/delete_button";
import { Dialog } from "../parts/dialog";
import { ErrorBox, Shown } from "../parts/states";

interface ActionProps {
  cause: ClusterDetails;
  onChanged: () => void;
}
interface DialogProps extends ActionProps {
  onClose: () => void;
}

const notePath = (key: string): string => `/v1/admin/clusters/${key}`;
const patch = (key: string, said: ClusterChange, etag = ""): Promise<unknown> =>
  change("PATCH", notePath(key), said, etag);

// The present annotation: the one on the page may be older.
function EditDialog(props: DialogProps) {
  const path = notePath(props.cause.key);
  const note = useResource(`edit ${path}`, (abort) => getTagged<ClusterNote>(path, abort));
  return (
    <Shown resource={note} what="the cause's annotation">
      {(tagged) => <EditForm {...props} note={tagged} />}
    </Shown>
  );
}

function EditForm({ cause, note: tagged, onChanged, onClose }: DialogProps & { note: Tagged<ClusterNote> }) {
  const note = tagged.data;
  const noted = cause.state === "regressed" && note.state === "fixed" ? "regressed" : (note.state ?? "new");
  const [title, setTitle] = useState(note.title ?? "");
  const [link, setLink] = useState(note.link ?? "");
  const [state, setState] = useState<string>(noted);
  const [fixedIn, setFixedIn] = useState(note.fixed_in ?? "");
  const save = async (): Promise<void> => {
    const isFixed = state === "fixed" || state === "regressed";
    const said: ClusterChange = {
      ...(title !== (note.title ?? "") ? { title } : {}),
      ...(link !== (note.link ?? "") ? { link } : {}),
      ...(state !== noted ? { state: state as NonNullable<ClusterChange["state"]> } : {}),
      ...(isFixed && fixedIn !== (note.fixed_in ?? "") ? { fixed_in: fixedIn } : {}),
      ...(!isFixed && note.fixed_in ? { fixed_in: "" } : {}),
    };
    if (Object.keys(said).length > 0) await patch(cause.key, said, tagged.etag);
    onChanged();
  };
  return (
    <Dialog title="Annotate this cause" action="Save" onAct={save} onClose={onClose}>
      <label>
        Title, shown instead of its frames
        <input
          name="title"
          value={title}
          maxLength={200}
          onInput={(event) => setTitle(event.currentTarget.value)}
        />
      </label>
      <label>
        Link to your tracker
        <input
          name="link"
          type="url"
          value={link}
          placeholder="https://"
          onInput={(event) => setLink(event.currentTarget.value)}
        />
      </label>
      <label>
        State
        <select name="state" value={state} onChange={(event) => setState(event.currentTarget.value)}>
          {noted === "regressed" && <option value="regressed">regressed: it occurred again</option>}
          <option value="new">new: not examined yet</option>
          <option value="known">known</option>
          <option value="fixed">fixed</option>
          <option value="ignored">ignored</option>
        </select>
      </label>
      {(state === "fixed" || state === "regressed") && (
        <label>
          Fixed in version (a report from it or a newer one makes the cause “regressed”)
          <input name="fixed_in" value={fixedIn} onInput={(event) => setFixedIn(event.currentTarget.value)} />
        </label>
      )}
    </Dialog>
  );
}

function MergeDialog({ cause, onChanged, onClose }: DialogProps) {
  const { route } = useLocation();
  const [text, setText] = useState("");
  const [target, setTarget] = useState<string | null>(null);
  const found = useResource(`merge ${text}`, (abort) =>
    get<Cluster[]>("/v1/clusters", { level: 1, q: text, state: "all", limit: 21 }, abort),
  );
  const merge = async (): Promise<void> => {
    await patch(cause.key, { merged_into: target });
    onChanged();
    route(below(`/causes/${target}`));
  };
  return (
    <Dialog
      title={`Merge ${shortName(causeName(cause))} into …`}
      action="Merge"
      canAct={target !== null}
      onAct={merge}
      onClose={onClose}
    >
      <p class="muted small">
        Its reports, and those to come, are shown in the other cause. Nothing is lost: it can be taken out
        again.
      </p>
      <label>
        Find the other cause
        <input
          type="search"
          name="target"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setTarget(null);
          }}
        />
      </label>
      <Shown resource={found} what="causes">
        {(causes) => (
          <div class="targets" role="radiogroup" aria-label="The other cause">
            {causes
              .filter((each) => each.key !== cause.key)
              .slice(0, 20)
              .map((each) => (
                <label key={each.key} class="target">
                  <input
                    type="radio"
                    name="into"
                    value={each.key}
                    checked={target === each.key}
                    onChange={() => setTarget(each.key)}
                  />
                  <span class="mono">{each.title || each.frames.map(shortName).join(" ← ")}</span>
                  <span class="muted">{duration(each.estimated.hang_ms)}</span>
                </label>
              ))}
          </div>
        )}
      </Shown>
    </Dialog>
  );
}

function SplitDialog({ cause, onChanged, onClose }: DialogProps) {
  const split = async (): Promise<void> => {
    await patch(cause.key, { is_split: !cause.is_split });
    onChanged();
  };
  const others = cause.children.map(
    (child) => child.frames.slice(cause.frames.length).map(shortName).join(" ← ") || "no caller known",
  );
  if (cause.is_split) {
    return (
      <Dialog title="Make it one cause again?" action="Make it one" onAct={split} onClose={onClose}>
        <p>Its {others.length} parts are shown together again.</p>
      </Dialog>
    );
  }
  return (
    <Dialog title="Split it by callers?" action="Split" onAct={split} onClose={onClose}>
      <p>In the list it is shown as {others.length} causes:</p>
      <ul class="mono">
        {others.slice(0, 20).map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
    </Dialog>
  );
}

function Merged({ cause, onChanged }: ActionProps) {
  const [error, setError] = useState<Error | null>(null);
  if (cause.merged.length === 0) return null;
  const takeOut = (key: string): void => {
    patch(key, { merged_into: null }).then(onChanged, setError);
  };
  return (
    <div class="small">
      With it:{" "}
      {cause.merged.map((key) => (
        <span key={key} class="mono">
          {key} {isAdmin() && <button onClick={() => takeOut(key)}>Take out</button>}{" "}
        </span>
      ))}
      {error && <ErrorBox error={error} />}
    </div>
  );
}

export function CauseActions({ cause, onChanged }: ActionProps) {
  const [open, setOpen] = useState<"edit" | "merge" | "split" | null>(null);
  const given = { cause, onChanged, onClose: () => setOpen(null) };
  return (
    <>
      <Merged cause={cause} onChanged={onChanged} />
      {isAdmin() && (
        <div class="cause-actions">
          <button onClick={() => setOpen("edit")}>Name, state, link …</button>
          <button onClick={() => setOpen("merge")}>Merge …</button>
          {cause.level === 1 && (cause.children.length > 1 || cause.is_split) && (
            <button onClick={() => setOpen("split")}>{cause.is_split ? "Make it one …" : "Split …"}</button>
          )}
          <DeleteButton kind="cluster" subject={cause.key} what="this cause's reports" />
        </div>
      )}
      {open === "edit" && <EditDialog {...given} />}
      {open === "merge" && <MergeDialog {...given} />}
      {open === "split" && <SplitDialog {...given} />}
    </>
  );
}
