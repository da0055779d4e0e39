// SPDX-License-Identifier: Apache-2.0
// Makes the page's files part of the program: `node embed.mjs DIRECTORY SOURCE` writes SOURCE, a C++ file.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";

const kTypes = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
// Keeps the generated file readable; compilers accept longer lines.
const kBytesALine = 96;

const [directory, source] = process.argv.slice(2);

function filesIn(folder) {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]));
}

// Three octal digits each, so that no byte runs into the next.
function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += kBytesALine) {
    const line = [...bytes.subarray(at, at + kBytesALine)].map(
      (byte) => `\\${byte.toString(8).padStart(3, "0")}`,
    );
    lines.push(`    "${line.join("")}"`);
  }
  return lines.join("\n");
}

function entries(path) {
  const type = kTypes[extname(path)];
  if (type === undefined) throw new Error(`embed.mjs: no content type is known for ${path}`);
  const address = "/" + relative(directory, path).split("\\").join("/");
  const content = readFileSync(path);
  const own = entry(address, type, content);
  if (address !== "/index.html") return [own];
  // For addresses with one folder, such as /causes/KEY: what it loads is one step up.
  const below = content.toString().replaceAll('="./', '="../');
  if (below === content.toString())
    throw new Error("embed.mjs: index.html loads nothing by a relative address");
  return [entry("/below/index.html", type, Buffer.from(below)), own];
}

function entry(address, type, content) {
  const gzip = gzipSync(content, { level: 9 });
  const etag = createHash("sha256").update(content).digest("hex").slice(0, 32);
  return `    {"${address}", "${type}", std::string_view(\n${literal(gzip)}, ${gzip.length}), "\\"${etag}\\""},`;
}

writeFileSync(
  source,
  `// Made by embed.mjs.
#include "collector/web/page_files.h"

namespace lagwatch::collector {
namespace {

constexpr PageFile kPageFiles[] = {
${filesIn(directory).flatMap(entries).join("\n")}
};

}  // namespace

std::span<const PageFile> PageFiles() { return kPageFiles; }

}  // namespace lagwatch::collector
`,
);
