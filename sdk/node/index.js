// SPDX-License-Identifier: Apache-2.0
"use strict";
// Finds the function that blocks Node's event loop: see index.d.ts.
const { AsyncLocalStorage, createHook } = require("node:async_hooks");
const diagnostics = require("node:diagnostics_channel");
const path = require("node:path");
const { performance } = require("node:perf_hooks");
const { isMainThread, threadId } = require("node:worker_threads");
const native = require("./lagwatch.node");

const OFF = 2; // an lw_status
const DEFAULT_DEADLINE_MS = 2000; // thresholdMs
const labels = new AsyncLocalStorage(); // numbers of texts
const numbers = new Map(); // of texts, for this thread
let hook = null; // keeps a label over awaits
let isCurrentSet = false; // the present dispatch has a label
let hasExitListener = false;

function numberOf(text) {
  let number = numbers.get(text);
  if (number === undefined) {
    number = native.keepText(String(text));
    if (number < 0) return number; // too many
    numbers.set(text, number);
  }
  return number;
}

// A number or a long hexadecimal one in a path is one thing's; there would be no end of such texts.
const IDS = /(?<=\/)(?:\d+|[0-9a-fA-F-]{16,})(?=\/|$)/g;
function routeOf(request) {
  const url = request.url ?? "/";
  const query = url.indexOf("?");
  return `${request.method} ${(query < 0 ? url : url.slice(0, query)).replace(IDS, "N")}`;
}

let route = routeOf;
function onRequest({ request }) {
  const number = numberOf(route(request));
  isCurrentSet = true;
  native.setTag(number);
  if (hook) labels.enterWith(number);
}

// Each callback begins here, with the label of what it goes on with.
function before() {
  const number = labels.getStore();
  if (number === undefined && !isCurrentSet) return;
  isCurrentSet = number !== undefined;
  native.setTag(number ?? -1);
}

const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const textOf = (value) => (typeof value === "boolean" ? String(Number(value)) : String(value));

function programName() {
  const script = process.argv[1];
  return script ? path.basename(script, path.extname(script)) : "node";
}

function pairsOf(options) {
  const pairs = [];
  for (const [name, value] of Object.entries({ app: programName(), ...options }))
    if (value !== undefined && value !== null) pairs.push(snakeCase(name), textOf(value));
  return pairs;
}

function watch(name = isMainThread ? "main" : `worker ${threadId}`) {
  return native.watch(name) > 0;
}

function start({ http = true, labels: keepsLabels = true, ...options } = {}) {
  if (native.start(pairsOf(options)) === OFF) return false;
  if (!watch()) return false;
  if (http) {
    route = typeof http === "function" ? http : routeOf;
    diagnostics.unsubscribe("http.server.request.start", onRequest);
    diagnostics.subscribe("http.server.request.start", onRequest);
  }
  if (keepsLabels && !hook) hook = createHook({ before }).enable();
  if (isMainThread && !hasExitListener) {
    hasExitListener = true;
    process.once("exit", () => native.stop(0));
  }
  return true;
}

function stop(flushMs = 0) {
  diagnostics.unsubscribe("http.server.request.start", onRequest);
  if (hook) hook.disable();
  hook = null;
  native.unwatch();
  if (isMainThread) native.stop(flushMs);
}

function label(text, work) {
  const number = numberOf(text);
  const previous = labels.getStore();
  isCurrentSet = true;
  native.setTag(number);
  try {
    return labels.run(number, work);
  } finally {
    native.setTag(previous ?? -1);
  }
}

function scope(name, work, { deadlineMs = DEFAULT_DEADLINE_MS } = {}) {
  native.scopeBegin(numberOf(name), deadlineMs);
  try {
    return work();
  } finally {
    native.scopeEnd();
  }
}

module.exports = {
  start,
  stop,
  watch,
  label,
  scope,
  isOn: () => native.whyOff() === "",
  whyOff: native.whyOff,
  version: native.version,
  dump: native.dump,
  ready: native.ready,
  stats: native.stats,
  setValue: (key, value) => native.setValue(key, value ?? ""),
  setThresholds: native.setThresholds,
  eventLoopUtilization: performance.eventLoopUtilization.bind(performance),
};
