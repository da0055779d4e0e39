// SPDX-License-Identifier: Apache-2.0
// Characters that would show another text than there is: those that change its direction, control characters
// and those without a width. Reports come from other machines, and may have any.
import { options, type VNode } from "preact";

// All but line feed and tab, and the joiners that some scripts and emoji need.
const kHidden =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;
const kShownAttributes = ["title", "aria-label", "alt"] as const;

// With a mark such as ⟨U+202E⟩ in the place of each.
export const marked = (text: string): string =>
  text.replace(kHidden, (each) => `⟨U+${each.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);

// Marks all text that is shown from now on; typed text and links stay unchanged.
export function markAllText(): void {
  const before = options.vnode;
  options.vnode = (node: VNode) => {
    const { type } = node as { type: unknown };
    if (type === null) {
      const text = node as unknown as { props: unknown };
      if (typeof text.props === "string") text.props = marked(text.props);
    } else if (typeof type === "string") {
      const props = node.props as Record<string, unknown>;
      for (const name of kShownAttributes) {
        const value = props[name];
        if (typeof value === "string") props[name] = marked(value);
      }
    }
    before?.(node);
  };
}
