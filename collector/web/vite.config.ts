// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vite";

// `npm run dev` serves the page's sources; requests of the page go to the collector at COLLECTOR.
const collector = process.env["COLLECTOR"] ?? "http://127.0.0.1:8790";

export default defineConfig(({ command }) => ({
  base: command === "build" ? "./" : "/", // addresses of files are relative: a proxy may add a path before them
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  server: { proxy: { "/v1": collector }, fs: { allow: ["../.."] } }, // the glossary is in docs
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // no data: URLs, which the page's policy does not allow
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
  },
}));
