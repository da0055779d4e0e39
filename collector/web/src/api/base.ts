// SPDX-License-Identifier: Apache-2.0
// The path that the collector is below, "" or such as "/lagwatch": a proxy in front may add one. All addresses of the
// page and of the API begin with it; the page's code is in its folder "assets".
import { options } from "preact";

export const base = import.meta.env.DEV ? "" : new URL("..", import.meta.url).pathname.replace(/\/$/, "");

// `path` is absolute, as without a proxy.
export const below = (path: string): string => base + path;

// Makes links that begin with "/" lead below the base, whatever draws them.
export function placeLinks(): void {
  if (base === "") return;
  const before = options.vnode;
  options.vnode = (vnode) => {
    const props = vnode.props as { href?: unknown };
    if (vnode.type === "a" && typeof props.href === "string" && props.href.startsWith("/"))
      props.href = below(props.href);
    before?.(vnode);
  };
}
