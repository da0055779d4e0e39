// SPDX-License-Identifier: Apache-2.0
// Addresses of frames' sources.
import { createContext } from "preact";
import type { Source } from "../api/types";

// Of the reports that are shown; null without a template.
export const SourceContext = createContext<Source | null>(null);

interface Placed {
  readonly file?: string | null | undefined;
  readonly line?: number | null | undefined;
  readonly own?: boolean | undefined;
}

// The path within the repository; null for a file that is elsewhere.
function pathOf(file: string, root: string): string | null {
  if (root !== "" && file.startsWith(root)) return file.slice(root.length);
  return /^([/\\]|[A-Za-z]:)/.test(file) ? null : file.replace(/^(\.\/)+/, "");
}

// Of the program's own frames only: the sources of libraries are in other repositories.
export function sourceAddress(source: Source | null, frame: Placed): string | null {
  if (!source || !frame.own || !frame.file) return null;
  const path = pathOf(frame.file, source.root);
  if (path === null || path === "" || path.split("/").includes("..")) return null;
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  const address = source.url
    .replaceAll("{file}", () => escaped)
    .replaceAll("{line}", () => `${frame.line ?? 1}`);
  // The collector has checked the template; nothing else may become a link.
  return /^https?:\/\//.test(address) ? address : null;
}
