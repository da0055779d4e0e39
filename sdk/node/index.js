// SPDX-License-Identifier: Apache-2.0
"use strict";
// Finds the function that blocks Node's event loop: see index.d.ts.
const { AsyncLocalStorage, createHook } = require("node:async_hooks");
const diagnostics = require("node:diagnostics_channel");
const path = require("node:path");
const { performance } = require("node:perf_hooks");
const { isMainThread, threadId } = require("node:worker_threads");
const native = require("./lagwatch.node");

const OFF = 2; // lw_status
const ALREADY_STARTED = 1;
const UNSEEN = "the waits of Node's event loop cannot be seen here";
const DEFAULT_DEADLINE_MS = 2000; // thresholdMs
const labels = new AsyncLocalStorage(); // numbers of texts
const numbers = new Map(); // of texts, for this thread
const OTHER = 0; // the number of "other"
const isFull = { request: false, own: false };
let hook = null; // begins each callback's label, or ends the last one's
let keepsLabels = true; // over awaits
let isCurrentSet = false; // the present dispatch has a label
let hasExitListener = false;
let ownReason = ""; // to be off on this thread

// Names of requests may come from strangers: they leave room for the program's own.
function numberOf(text, kind = "own") {
  const known = numbers.get(text);
  if (known !== undefined) return known;
  if (isFull[kind]) return OTHER;
  const number = native.keepText(String(text), kind === "request");
  if (number < 0) {
    isFull[kind] = true;
    return OTHER;
  }
  numbers.set(text, number);
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
  const number = numberOf(route(request), "request");
  isCurrentSet = true;
  native.setTag(number);
  if (keepsLabels) labels.enterWith(number);
}

// Each callback begins here, with the label of what it goes on with, or with none.
function before() {
  const number = keepsLabels ? labels.getStore() : undefined;
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

function start({ http = true, labels: wantsLabels = true, ...options } = {}) {
  const status = native.start(pairsOf(options));
  ownReason = "";
  if (status === OFF) return false;
  if (!watch()) {
    ownReason = UNSEEN;
    if (status !== ALREADY_STARTED) native.stop(0);
    return false;
  }
  keepsLabels = wantsLabels;
  if (http) {
    route = typeof http === "function" ? http : routeOf;
    diagnostics.unsubscribe("http.server.request.start", onRequest);
    diagnostics.subscribe("http.server.request.start", onRequest);
  }
  if ((keepsLabels || http) && !hook) hook = createHook({ before }).enable();
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
  const previous = keepsLabels ? labels.getStore() : undefined;
  isCurrentSet = true;
  native.setTag(number);
  try {
    return keepsLabels ? labels.run(number, work) : work();
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

const whyOff = () => ownReason || native.whyOff();

const own = {
  start,
  stop,
  watch,
  label,
  scope,
  isOn: () => whyOff() === "",
  whyOff,
  version: native.version,
  dump: native.dump,
  ready: native.ready,
  stats: native.stats,
  setValue: (key, value) => native.setValue(key, value ?? ""),
  setThresholds: native.setThresholds,
  eventLoopUtilization: performance.eventLoopUtilization.bind(performance),
};

// A second copy of the package in the program goes on with the first one's functions: a loop has one watcher.
const FIRST = Symbol.for("lagwatch");
if (!globalThis[FIRST]) Object.defineProperty(globalThis, FIRST, { value: own });
module.exports = globalThis[FIRST];
