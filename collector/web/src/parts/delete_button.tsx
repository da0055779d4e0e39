// SPDX-License-Identifier: Apache-2.0
// Deletes what the collector has of something, for good.
import { useState } from "preact/hooks";
import { change } from "../api/client";
import type { Deletion } from "../api/types";
import { Dialog } from "./dialog";

interface DeleteProps {
  kind: Deletion["kind"];
  subject: string;
  what: string; // as in "Delete …?"
}

export function DeleteButton({ kind, subject, what }: DeleteProps) {
  const [isAsking, setAsking] = useState(false);
  const [begun, setBegun] = useState<Deletion | null>(null);
  const remove = async (): Promise<void> => {
    setBegun(await change<Deletion>("POST", "/v1/admin/deletions", { kind, subject }));
  };
  if (begun)
    return (
      <span class="muted small" role="status">
        Being deleted; <a href="/settings?part=deletions">Settings</a> say when it is done.
      </span>
    );
  return (
    <>
      <button class="bad" onClick={() => setAsking(true)}>
        Delete …
      </button>
      {isAsking && (
        <Dialog
          title={`Delete ${what}?`}
          action="Delete"
          isBad
          onAct={remove}
          onClose={() => setAsking(false)}
        >
          <p>Their traces are deleted, too, and all sums are corrected. Only backups keep them.</p>
        </Dialog>
      )}
    </>
  );
}
