// SPDX-License-Identifier: Apache-2.0
// Freezes its loop in the way that the argument names, and prints the stack that V8 itself sees there.
'use strict';
const childProcess = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const MS = 600;

// Prints "NAME (FILE):LINE" of each caller, innermost first. Called on the line that then freezes.
function tell() {
  Error.stackTraceLimit = Infinity;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = new Error().stack.slice(1);
  Error.prepareStackTrace = undefined;
  const lines = sites.filter((site) => !site.isAsync?.()).map((site) => {
    const file = site.getFileName()?.replace(/^(?!node:).*\//, '') ?? 'native';
    return `${site.getFunctionName() ?? '<anonymous>'} (${file}):${file === 'native' ? 0 : site.getLineNumber()}`;
  });
  // Not through a pipe's stream, which the frozen loop could not write.
  fs.writeSync(1, lines.join('\n') + '\n');
}

const end = () => Date.now() + MS;

class Handler {
  loop() {
    const until = end();
    tell(); for (let i = 1; i % 64 !== 0 || Date.now() < until; ++i);
  }
  // Compiled and inlined, as long as `ms` is small; V8 knows both ways of the branch.
  compiled() {
    const memory = new Int32Array(new SharedArrayBuffer(4));
    function innermost(ms) {
      if (ms > 0) tell(); return ms >= 0 ? Atomics.wait(memory, 0, 0, ms) : 0;
    }
    function inner(ms) {
      let result = 0;
      result += innermost(ms).length;
      return result;
    }
    function outer(ms) {
      let result = 0;
      result += inner(ms);
      return result;
    }
    for (let i = 0; i < 20000; ++i) outer(i % 2 - 1);
    outer(MS);
  }
  json() {
    const text = JSON.stringify(Array.from({length: 20000}, (_, i) => ({a: i, b: `x${i}`})));
    const until = end();
    tell(); while (Date.now() < until) JSON.parse(text);
  }
  regex() {
    tell(); /^(a+)+$/.test('a'.repeat(23) + 'b');
  }
  execSync() {
    tell(); childProcess.execSync('sleep 0.6');
  }
  wait() {
    tell(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MS);
  }
  fifo() {
    const fifo = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'fifo-')), 'fifo');
    childProcess.execSync(`mkfifo ${fifo}`);
    childProcess.spawn('sh', ['-c', `sleep 0.6; echo > ${fifo}; rm -r ${path.dirname(fifo)}`]);
    tell(); fs.readFileSync(fifo);
  }
  größe() {
    [2, 1].sort((left, right) => {
      tell(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MS);
      return left - right;
    });
  }
}

// Leaves frames of scripts, of built-in functions and of C++ below the stack of the wait that follows, and idles until it is killed.
function idle() {
  const deep = (n) => n === 0 ? JSON.parse(fs.readFileSync(__filename, 'utf8').length.toString()) : [1].map(() => deep(n - 1))[0];
  const timers = Array.from({length: 200}, (_, i) => setTimeout(() => deep(i % 50), i % 20));
  setTimeout(() => {
    timers.forEach(clearTimeout);
    setInterval(() => {}, 1e8);
    fs.writeSync(1, 'idle\n');
  }, 60);
}

if (process.argv[2] === 'idle') {
  idle();
  return;
}

// The loop's own wait has to be known from the one of execSync.
const ticks = setInterval(() => {}, 10);
setTimeout(function freeze() {
  clearInterval(ticks);
  // The hang ends with its dispatch, the program with the next one.
  setTimeout(() => {}, MS + 200);
  new Handler()[process.argv[2]]();
}, 250);
