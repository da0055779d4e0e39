// SPDX-License-Identifier: Apache-2.0
// Shortens functions' names, but keeps them distinct.
import type { Frame } from "../api/types";

const kLongest = 72;

// Leaves out template arguments and parameters of long names: std::map<…>::find.
export function shortName(name: string): string {
  if (name.length <= kLongest) return name;
  let short = "";
  let depth = 0;
  for (let i = 0; i < name.length; ++i) {
    const c = name[i]!;
    const isArrow = c === ">" && name[i - 1] === "-";
    const isOperator = /operator[<>=]*$/.test(short) && (c === "<" || c === ">");
    if (c === "<" && !isOperator) {
      if (depth++ === 0) short += "<…>";
    } else if (c === ">" && !isArrow && !isOperator && depth > 0) {
      --depth;
    } else if (depth === 0) {
      short += c;
    }
  }
  return depth === 0 ? short : name;
}

export const fileName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

export function place(frame: Pick<Frame, "file" | "line">): string {
  if (!frame.file) return "";
  return frame.line ? `${fileName(frame.file)}:${frame.line}` : fileName(frame.file);
}

// Function, module and line: what a tooltip says.
export function wholeFrame(frame: Frame): string {
  const line = frame.file ? `\n${frame.file}${frame.line ? `:${frame.line}` : ""}` : "";
  return `${frame.function}${line}\n${frame.module || "no module"}+${frame.offset}`;
}

// A cause's title, or its innermost frames.
export function causeName(cause: { title?: string | null; frames: readonly string[]; key: string }): string {
  return cause.title || cause.frames[0] || `cause ${cause.key}`;
}
