// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";

// The clipboard is there on HTTPS and on this machine; elsewhere a selection does.
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (!isDone) throw new Error("this browser does not let pages copy");
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [said, setSaid] = useState(label);
  const onClick = (): void => {
    copy(text).then(
      () => setSaid("Copied"),
      () => setSaid("Could not copy"),
    );
    setTimeout(() => setSaid(label), 2_000);
  };
  return (
    <button onClick={onClick}>
      <span aria-live="polite">{said}</span>
    </button>
  );
}
