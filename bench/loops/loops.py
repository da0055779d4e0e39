#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loops that wait in 27 ways, by `lagwatch run` and `lagwatch watch`: in each, one of a hundred pieces of work hangs for 0.7 s.

The last line is one JSON object:
  kinds            the ways to wait, as far as the kernel has them
  run_found        kinds of which `lagwatch run` reports the hang, by its function
  run_false        reports of anything else
  watch_found, watch_false  the same of `lagwatch watch`
  missed           the kinds that one of the two does not find
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
import suite  # noqa: E402

TARGETS = ["lagwatch-cli", "lagwatch_preload"]
SOURCE = pathlib.Path(__file__).resolve().parent / "loop_kinds.c"
CULPRIT = "HangInHandler"
# By default, only loops that are hardly anything else are found, of those that poll nothing.
THREADS = ["--threads", "main"]
NO_SUCH_WAIT = 77


def reports(lagwatch, spool):
    if not spool.exists():
        return []
    def ask(*question):
        done = subprocess.run([lagwatch, *question, "--spool", spool, "--json"], text=True, capture_output=True, check=True)
        return json.loads(done.stdout)
    return [ask("report", header["id"]) for header in ask("reports")]


def run(lagwatch, program, kind, spool):
    command = [lagwatch, "run", *THREADS, "--threshold-ms", "200", "--spool", spool, "--", program, kind]
    return subprocess.run(command, capture_output=True, check=False).returncode


def watch(lagwatch, program, kind, spool):
    with subprocess.Popen([program, kind]) as watched:
        subprocess.run([lagwatch, "watch", *THREADS, "--threshold-ms", "200", "--spool", spool, str(watched.pid)], capture_output=True, check=False)
    return watched.returncode


def main():
    options = suite.parser(__doc__, only="the kinds' names begin so")
    arguments = suite.parse(options)
    lagwatch = arguments.bin / "lagwatch"
    count = {"kinds": 0, "run_found": 0, "run_false": 0, "watch_found": 0, "watch_false": 0, "missed": []}
    with suite.work_directory() as work:
        program = work / "loop_kinds"
        subprocess.run(["cc", "-O1", SOURCE, "-o", program, "-lpthread", "-lrt"], check=True)
        kinds = subprocess.run([program], text=True, capture_output=True, check=True).stdout.split()
        for kind in (kind for kind in kinds if kind.startswith(arguments.only)):
            if subprocess.run([program, kind], check=False).returncode == NO_SUCH_WAIT:
                continue
            count["kinds"] += 1
            for name, way in (("run", run), ("watch", watch)):
                spool = work / f"{name}-{kind}"
                code = way(lagwatch, program, kind, spool)
                found = [CULPRIT in json.dumps(report["expensive_stack"]) for report in reports(lagwatch, spool)]
                count[f"{name}_found"] += any(found)
                count[f"{name}_false"] += found.count(False)
                if not any(found):
                    count["missed"].append(f"{kind} ({name})")
                suite.progress(f"{kind:16} {name:6} {'found' if any(found) else 'MISSED':7} code {code}, {found.count(False)} false")
    return suite.result(count)


if __name__ == "__main__":
    sys.exit(main())
