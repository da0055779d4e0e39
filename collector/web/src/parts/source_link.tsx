// SPDX-License-Identifier: Apache-2.0
// A frame's place as a link to its source, or as text without one.
import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { SourceContext, sourceAddress } from "../format/source";
import type { FlameFrame } from "./flame_tree";

export function SourceLink({ frame, children }: { frame: FlameFrame; children: ComponentChildren }) {
  const address = sourceAddress(useContext(SourceContext), frame);
  if (address === null) return <>{children}</>;
  return (
    <a class="source" href={address} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}
