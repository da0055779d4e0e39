// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ErrorBox } from "./states";

interface DialogProps {
  title: string;
  action: string;
  isBad?: boolean;
  canAct?: boolean;
  onAct: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

// Asks before something is done, says why it could not be, and closes when it is.
export function Dialog({
  title,
  action,
  isBad = false,
  canAct = true,
  onAct,
  onClose,
  children,
}: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isActing, setActing] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  // Closed, and not just gone: so the focus goes back to where it was.
  const close = (): void => dialog.current?.close();
  const act = (event: Event): void => {
    event.preventDefault();
    setActing(true);
    setError(null);
    onAct().then(close, (refusal: Error) => {
      setError(refusal);
      setActing(false);
    });
  };
  return (
    <dialog
      ref={dialog}
      class="card"
      aria-labelledby="dialog-title"
      onClose={onClose}
      onCancel={(event) => isActing && event.preventDefault()}
    >
      <form onSubmit={act}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        {error && <ErrorBox error={error} />}
        <div class="actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button class={isBad ? "main bad-main" : "main"} type="submit" disabled={!canAct || isActing}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
