// SPDX-License-Identifier: Apache-2.0
// JavaScript stacks of random shapes. `stops N SEED`: N times, prints the stack that V8 itself sees, one line
// "NAME (FILE):LINE|…", and waits for a line of input. `churn`: compiles, runs and drops functions for ever.
'use strict';
const fs = require('fs');

let state = Number(process.argv[4] ?? 1);
function random(bound) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >> 8) % bound;
}

Error.stackTraceLimit = Infinity;
const input = Buffer.alloc(1);
function stop() {
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = new Error().stack.slice(1);
  Error.prepareStackTrace = undefined;
  const frames = sites.filter((site) => !site.isAsync?.()).map((site) => {
    const name = site.getFileName()?.replace(/^(?!node:).*\//, '');
    const file = name ?? (site.isEval() ? '' : 'native');
    return `${site.getFunctionName() ?? '<anonymous>'} (${file}):${file === 'native' ? 0 : site.getLineNumber()}`;
  });
  fs.writeSync(1, frames.join('|') + '\n');
}

class Base {
  constructor(depth) { if (depth !== undefined) grow(depth); }
}
class Node extends Base {
  constructor(depth) {
    super(
      depth);
  }
  static of(depth) { return grow(depth); }
  method(depth) { return grow(depth); }
  get value() { return grow(this.depth); }
  set other(depth) { grow(depth); }
  toJSON() { grow(this.depth); return 1; }
  valueOf() { return grow(this.depth); }
}
function node(depth) { const made = new Node(); made.depth = depth; return made; }

const ways = [
  (depth) => node(depth).method(depth),
  (depth) => node(depth).value,
  (depth) => { node(depth).other = depth; },
  (depth) => Node.of(depth),
  (depth) => new Node(depth),
  (depth) => +node(depth),
  (depth) => JSON.stringify([node(depth)]),
  (depth) => [2, 1].sort((a, b) => grow(depth) || a - b),
  (depth) => [depth].map(grow),
  (depth) => [depth].forEach((value) => grow(value)),
  (depth) => [1, 2].reduce(() => grow(depth)),
  (depth) => Array.from([depth], (value) => grow(value)),
  (depth) => 'a'.replace(/a/, () => grow(depth)),
  (depth) => new Map([[1, depth]]).forEach((value) => grow(value)),
  (depth) => grow.bind(null, depth)(),
  (depth) => grow.apply(null, [depth]),
  (depth) => Reflect.apply(grow, null, [depth]),
  (depth) => new Proxy({}, {get: () => grow(depth)}).any,
  (depth) => new Function('grow', 'depth', '\n\nreturn grow(depth)')(grow, depth),
  function generator(depth) {
    function* numbers() {
      yield 1;
      yield grow(depth);
    }
    for (const _ of numbers());
  },
  function delegating(depth) {
    function* inner() { yield grow(depth); }
    function* outer() { yield* inner(); }
    return [...outer()];
  },
  function promising(depth) {
    (async () => {
      await grow(depth);
    })();
  },
  function failing(depth) {
    try {
      throw new Error();
    } catch {
      (
        grow(
          depth
        )
      );
    } finally {
      state |= 0;
    }
  },
];

let isQuiet = false;
function grow(depth) {
  if (depth <= 0) {
    if (isQuiet) return 0;
    stop(); fs.readSync(0, input);
    return 0;
  }
  if (depth % 7 === 3) state ^= 1;
  ways[random(ways.length)](depth - 1);
  return 0;
}

function churn() {
  for (;;) {
    const name = `f${random(1000)}`;
    const text = `(function ${name}(n) {` + '\n'.repeat(random(50)) + `return n ? ${name}(n - 1) : 0; })`;
    const made = (0, eval)(text);
    for (let i = 0; i < 50; ++i) made(random(20));
    isQuiet = true;
    grow(random(8));
  }
}

if (process.argv[2] === 'stops') {
  const stops = Number(process.argv[3]);
  for (let i = 0; i < stops; ++i) {
    // Hot after some time: in the interpreter first, then compiled.
    isQuiet = true;
    for (let j = 0; j < i; ++j) grow(random(6));
    isQuiet = false;
    grow(random(12));
  }
} else {
  fs.writeSync(1, 'churning\n');
  churn();
}
