// SPDX-License-Identifier: Apache-2.0
// The terms of docs/glossary.md, which is Markdown with few means: headings, paragraphs, `code`, *words*, [links](…).

export interface Part {
  readonly kind: "text" | "code" | "word" | "term";
  readonly text: string;
  readonly anchor?: string; // of a term
}

export interface Entry {
  readonly name: string;
  readonly anchor: string;
  readonly parts: readonly Part[];
}

// As the documentation's site makes them.
export const anchorOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/[-\s]+/g, "-");

const kInline = /`([^`]+)`|\*([^*]+)\*|\[([^\]]+)\]\(([^)]+)\)/g;

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(kInline)) {
    if (match.index > end) parts.push({ kind: "text", text: text.slice(end, match.index) });
    end = match.index + match[0].length;
    const [, code, word, label, address] = match;
    if (code !== undefined) parts.push({ kind: "code", text: code });
    else if (word !== undefined) parts.push({ kind: "word", text: word });
    else if (address!.startsWith("#")) parts.push({ kind: "term", text: label!, anchor: address!.slice(1) });
    // The page has no other document.
    else parts.push({ kind: "text", text: `${label} (docs/${address!.replace(/#.*/, "")})` });
  }
  if (end < text.length) parts.push({ kind: "text", text: text.slice(end) });
  return parts;
}

export function entriesOf(markdown: string): Entry[] {
  return markdown
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [name, ...lines] = section.split("\n");
      return {
        name: name!,
        anchor: anchorOf(name!),
        parts: partsOf(lines.join(" ").replace(/\s+/g, " ").trim()),
      };
    });
}
