# SPDX-License-Identifier: Apache-2.0
"""Loops that freeze once in their first, fifth or fiftieth dispatch, and wait for one descriptor or for several ones.

`run_all` runs the programs of this folder under `lagwatch run`: each wait that a handler may freeze in, with each way
of waiting for events. Those in C freeze at each of the dispatches, scripts at one of them in turn.
There must be one report, which names the function that froze.
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import threading

from expectation import show
from harness.lagwatch import Lagwatch, functions
from harness.processes import compiled, feed
from harness.suite import progress, work_directory

FOLDER = pathlib.Path(__file__).resolve().parent
THRESHOLD_MS = 300
LONGEST_S = 40
TURN_S = 0.015
AT_ONCE = 6  # they sleep most of the time
DISPATCHES = (1, 5, 50)

# Program: (its command, the ways of waiting, the kinds of freezes).
PROGRAMS = {
    "loop.c": ([], ["poll-one", "poll-many", "poll-event", "poll-socket", "select-one", "select-many", "epoll-one", "epoll-many", "epoll-event"],
               ["cpu", "sleep", "usleep", "sleep-by-poll", "sleep-by-select", "rdlock", "wrlock", "mutex", "flock", "file-lock",
                "child", "system", "output", "read", "recv", "answer-by-poll", "answer-in-steps", "fifo", "full-pipe", "condition",
                "timed-condition", "semaphore", "barrier", "join", "timer", "message", "signal"]),
    "loop.py": (["/usr/bin/python3"], ["select-one", "select-many", "poll-one", "poll-many", "epoll-one", "epoll-many", "asyncio-many"],
                ["cpu", "sleep", "sleep-by-select", "lock", "lock-with-timeout", "event", "queue", "queue-with-timeout", "condition",
                 "join", "child", "output", "communicate", "flock", "recv", "recv-with-timeout", "answer-by-select", "fifo"]),
    "loop.rb": (["ruby"], ["select-one", "select-many"],
                ["cpu", "sleep", "child", "output", "mutex", "queue", "join", "flock", "read", "answer-by-select"]),
    "loop.pl": (["perl"], ["select-one", "select-many"],
                ["cpu", "sleep", "sleep-by-select", "child", "output", "flock", "read", "answer-by-select"]),
    "loop.php": (["php"], ["select-one", "select-many"],
                 ["cpu", "sleep", "usleep", "child", "output", "flock", "read", "answer-by-select"]),
    "loop.lua": (["lua5.4"], ["select-one", "select-many"], ["cpu", "sleep", "sleep-by-select", "child", "output"]),
    "loop.js": (["node"], ["input-many", "timer-many"], ["cpu", "wait", "child", "output"]),
}
AT_EACH = ["loop.c"]
# docs/design/waits.md, "Not seen": clients wait at one socket as such a loop does; Ruby's handlers at its loop's place.
NOT_SEEN = re.compile("poll-socket .* answer|loop.rb .* answer")


def fault(reports):
    """The defect of a run's reports; empty if there is none."""
    is_named = lambda report: any("freeze" in name.lower() for name in functions(report["expensive_stack"]))
    if not reports:
        return "missed"
    said = ", ".join(f"{report['duration_ms']} ms {report.get('cause')}" for report in reports)
    if not any(map(is_named, reports)):
        return "not named: " + said
    return "" if len(reports) == 1 else f"{len(reports)} reports: {said}"


def run(binaries, command, dispatch):
    with work_directory() as directory:
        lagwatch = Lagwatch(binaries, directory / "spool")
        program = subprocess.Popen(lagwatch.watched(command, threshold_ms=THRESHOLD_MS), env=os.environ | {"TMPDIR": str(directory)},
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        driver = threading.Thread(target=feed, args=(program, [b"x"] * (dispatch + 5), TURN_S))
        driver.start()
        killer = threading.Timer(LONGEST_S, program.kill)
        killer.start()
        output = program.stdout.read()
        driver.join()
        killer.cancel()
        program.stdin.close()
        if program.wait() != 0 or b"good" not in output:
            return f"exit {program.returncode}: {output[-300:]}"
        return fault(lagwatch.whole_reports())


def rows(directory, load):
    """(the command, what it is called, its dispatch) of each run."""
    found = []
    for program, (runtime, polls, kinds) in PROGRAMS.items():
        if runtime and shutil.which(runtime[0]) is None:
            progress(f"left out {program}: there is no {runtime[0]}")
            continue
        command = [*runtime, FOLDER / program] if runtime else [f"{directory}/loop"]
        for (number, kind), (shift, poll) in itertools.product(enumerate(kinds), enumerate(polls)):
            for dispatch in DISPATCHES if program in AT_EACH and load == 1 else [DISPATCHES[(number + shift) % len(DISPATCHES)]]:
                if NOT_SEEN.search(f"{program} {poll} {dispatch} {kind}"):
                    continue
                found.append(([*command, poll, str(dispatch), kind], f"{program} {poll} {dispatch} {kind}", dispatch))
    return found


def run_all(binaries, only, load, outcomes):
    """Whether each run was as it should be, of those whose name has `only`; at a high load each at one of the dispatches."""
    with work_directory() as directory:
        compiled(FOLDER / "loop.c", directory / "loop")
        chosen = [row for row in rows(directory, load) if only in "early " + row[1]]

        def one(row):
            text = run(binaries, row[0], row[2])
            outcomes.add(f"early {row[1]}", load, None, None, function=not text)
            return show(not text, f"early {row[1]} {text}")
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(one, chosen))
