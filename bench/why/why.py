#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lagwatch why` of programs that are frozen, and of others that are not:

  programs, frozen     programs that were asked about, and freezes of theirs: real programs (freezes/), scenes of one in C++
                       (recipes/native/), and processes in states that the kernel knows (states.py)
  right_sentence       sentences that say "does not respond", and name the planted function and the planted other side, if there is one
  right_thread         answers about the thread, or a thread whose stack has the planted function
  right_culprit        answers that have the planted other side, of those where there is one
  healthy, healthy_right  programs that wait for work, or have much of it, and those of them that are called so
  ms_p50, ms_p99       the time that an answer takes
  stop_us_p99          the time that threads of a program were stopped by an answer, all together, of answers that
                       stopped any: where perf events are permitted none does
  gap_us_*             the longest gap of a 1 ms heartbeat in a program of 204 threads of which two are in a deadlock, the median of
                       several looks by each tool (the program alone: gap_us_alone); ms_*: the time that a look takes; lines_*: what
                       the tool prints
  harmed               programs that did not go on as before
"""
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import freezes.freezing
import states
from freezes.freezing import freezing
from harness import suite
from harness.lagwatch import Lagwatch, functions
from harness.processes import QUIET, compiled, feed, kill_group, running, stat_of
from recipes.native import native
from states import States

PACKAGES = sorted(freezes.freezing.PACKAGES + states.PACKAGES + ["elfutils", "gdb", "zlib1g-dev"])
TARGETS = ["lagwatch-cli"]
FOLDER = pathlib.Path(__file__).parent
# A freeze has begun by then.
BEGIN_S = 0.25


class Why(Lagwatch):
    def __init__(self, binaries):
        super().__init__(binaries)
        self.times_ms = []
        self.stops_us = []

    def ask(self, pid):
        """(exit code, answer)"""
        begin = time.monotonic()
        done = self.call("why", "--json", pid)
        self.times_ms.append(1000 * (time.monotonic() - begin))
        try:
            answer = json.loads(done.stdout)
            # Threads that compute are stopped while their stacks are copied.
            self.stops_us += [stop for stop in [(answer["report"] or {}).get("facts", {}).get("capture_pause_us", 0)] if stop]
            return done.returncode, answer
        except ValueError:
            suite.progress(done.stderr.strip())
            return done.returncode, None


def has_any(words, text):
    return any(word in text for word in words.split())


def threads_functions(answer):
    """The functions of the thread that matters, and of the threads that its waits lead to."""
    report = answer.get("report") or {}
    names = functions(report.get("expensive_stack") or [])
    for wait in report.get("waits") or []:
        names += functions((wait.get("owner") or {}).get("stack") or [])
    return " ".join(names)


class Count:
    def __init__(self, progress):
        self.progress = progress
        self.programs = self.frozen = self.sentences = self.threads = self.with_culprit = self.culprits = 0
        self.healthy = self.healthy_right = self.harmed = 0

    def add_frozen(self, name, answer, function, culprit):
        code, answer = answer
        sentence = (answer or {}).get("sentence", "")
        self.frozen += 1
        has_thread = bool(answer) and (not function or has_any(function, threads_functions(answer)))
        has_culprit = not culprit or has_any(culprit, sentence)
        is_right = code == 1 and has_culprit and (not function or has_any(function, sentence))
        self.threads += has_thread
        self.with_culprit += bool(culprit)
        self.culprits += bool(culprit) and has_culprit
        self.sentences += is_right
        self.progress(f"{'right' if is_right else 'WRONG'} {name:28} {code} {sentence}")

    def add_healthy(self, name, answer):
        code, answer = answer
        self.healthy += 1
        self.healthy_right += code == 0
        self.progress(f"{'right' if code == 0 else 'WRONG'} {name:28} {code} {(answer or {}).get('sentence', '')} (healthy)")


def ask_meanwhile(why, freeze, pid):
    """Asks while `freeze()` runs."""
    thread = threading.Thread(target=freeze)
    thread.start()
    time.sleep(BEGIN_S)
    answer = why.ask(pid)
    thread.join()
    return answer


def of_real_programs(why, count, work, only):
    for program in freezing(work):
        if not program.name.startswith(only):
            continue
        count.programs += 1
        program.start(work)
        time.sleep(2.5)
        try:
            count.add_healthy(program.name, why.ask(program.pid))
            for way, truth in program.ways.items():
                count.add_frozen(f"{program.name} {way}", ask_meanwhile(why, lambda: program.freeze(way), program.pid), truth.functions, truth.owner)
                time.sleep(0.5)
            count.harmed += stat_of(program.pid) is None
        finally:
            program.close()


def of_scenes(why, count, work, only):
    """The scenes of one program in C++."""
    program = native.build(work)["O2"]
    count.programs += 1
    for name, _word, function, other in native.scenes(program):
        if not f"scene {name}".startswith(only):
            continue
        process = subprocess.Popen([program, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            feed(process, ["turn\n"] * 5 + ["freeze\n"], 0.03)
            time.sleep(BEGIN_S)
            culprit = {"owner": "culprit", "peer": "culprit", "candidate": "culprit", "deadlock": "deadlock"}.get(other, "")
            count.add_frozen(f"scene {name}", why.ask(process.pid), function.replace("/", " "), culprit)
            if other != "deadlock":
                feed(process, ["turn\n"], 0.03)
                count.harmed += not process.stdout.readline()
        finally:
            kill_group(process)


def of_states(why, count, work, only):
    """Processes whose reason the kernel knows, and one that has much to do."""
    work.mkdir()
    for name, state in States(work).every().items():
        if not f"state {name}".startswith(only):
            continue
        count.programs += 1
        with state() as case:
            count.add_frozen(f"state {name}", why.ask(case.pid), case.function, case.culprit)
            count.harmed += stat_of(case.pid) is None
    saturated = compiled(FOLDER / "saturated.c", work / "saturated")
    if "state saturated".startswith(only):
        count.programs += 1
        with running([[saturated]], **QUIET) as (busy,):
            time.sleep(0.5)
            count.add_healthy("state saturated", why.ask(busy.pid))


def gap_us(process):
    """The longest gap since the last question."""
    process.stdin.write("gap\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def beside_others(why, work):
    """Other tools, at the same program."""
    program = compiled(FOLDER / "many_threads.c", work / "many_threads")
    tools = {"alone": lambda pid: time.sleep(0.5), "why": why.ask,
             "gdb": lambda pid: subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"], check=False, capture_output=True, text=True),
             "eu_stack": lambda pid: subprocess.run(["eu-stack", "-p", str(pid)], check=False, capture_output=True, text=True)}
    figures = {}
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        time.sleep(1)
        for name, look in tools.items():
            gaps, times = [], []
            for _ in range(5):
                gap_us(process)
                begin = time.monotonic()
                done = look(process.pid)
                times.append(1000 * (time.monotonic() - begin))
                gaps.append(gap_us(process))
            figures[f"gap_us_{name}"] = statistics.median(gaps)
            if name != "alone":
                figures[f"ms_{name}"] = round(statistics.median(times))
                lines = why.call("why", process.pid).stdout if name == "why" else done.stdout
                figures[f"lines_{name}"] = lines.count("\n")
    finally:
        kill_group(process)
    return figures


def main():
    options = suite.parser(__doc__, only="the names of programs and scenes begin so")
    arguments = suite.parse(options)
    why = Why(arguments.bin)
    count = Count(suite.progress)
    with suite.work_directory() as work:
        (work / "scenes").mkdir()
        of_real_programs(why, count, work, arguments.only)
        of_scenes(why, count, work / "scenes", arguments.only)
        of_states(why, count, work / "states", arguments.only)
        others = {}
        if not arguments.only:
            others = beside_others(why, work) if shutil.which("gdb") and shutil.which("eu-stack") else {}
    percent = lambda part, whole: round(100 * part / max(whole, 1), 1)
    return suite.result({"programs": count.programs, "frozen": count.frozen, "right_sentence": percent(count.sentences, count.frozen),
                         "right_thread": percent(count.threads, count.frozen), "right_culprit": percent(count.culprits, count.with_culprit),
                         "healthy": count.healthy, "healthy_right": count.healthy_right, "ms_p50": round(suite.percentile(why.times_ms, 50) or 0),
                         "ms_p99": round(suite.percentile(why.times_ms, 99) or 0), "stop_us_p99": round(suite.percentile(why.stops_us, 99) or 0), "harmed": count.harmed} | others)


if __name__ == "__main__":
    sys.exit(main())
