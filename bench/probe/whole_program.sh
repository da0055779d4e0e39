#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# whole_program.sh LIBRARY: runs Python with a probe on each of its functions, and with one on each of the C library's.
# Threads, exceptions, deep calls and a child must work as ever, and the code must be the files' in the end.
set -eu
program='
import json, subprocess, threading
def work():
    for i in range(100):
        json.loads(json.dumps({"a": [1, 2, 3] * 10}))
        try: int("x")
        except ValueError: pass
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
print(subprocess.run(["echo", "child"], capture_output=True).stdout, depth(900))'
for module in 'python3*' 'libc.so.6'; do
  totals=$(mktemp)
  output=$(LAGWATCH_PROBE=$module LD_PRELOAD=$1 /usr/bin/python3 -c "$program" 2>"$totals")
  cat "$totals"
  [ "$output" = "b'child\\n' 900" ] || { echo "wrong: $output"; exit 1; }
  grep -q '"armed": [1-9][0-9][0-9][0-9].*"entries": [1-9][0-9][0-9][0-9][0-9].*"bytes_are_original": true' "$totals"
  rm "$totals"
done
