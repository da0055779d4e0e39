# SPDX-License-Identifier: Apache-2.0
"""Freezes a program in C++ in scenes with a planted word, function, length and other side, in three builds.

`run_all` runs each scene of native.cc under `lagwatch run`, three times as built by -O2, and once by -O0 and by -O3 -flto.
Its report must have the scene's word, name its function in the cause, and the owner "culprit" at KeepItWaiting, or that thread
among the first two candidates; and all five must have one key.
"""
import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import time

from harness.lagwatch import Lagwatch, functions
from harness.outcomes import is_within, word_of
from harness.processes import feed, kill_group, wait_for
from harness.suite import progress, work_directory

FOLDER = pathlib.Path(__file__).resolve().parent
BUILDS = {"O2": ["-O2"], "O0": ["-O0"], "O3-lto": ["-O3", "-flto"]}
RUNS = ["O2", "O2", "O2", "O0", "O3-lto"]
THRESHOLD_MS = 300
LONGEST_S = 60
AT_ONCE = 4  # most of them sleep


def build(directory):
    """{build: its program}"""
    compiler = [os.environ.get("CXX", "c++"), "-std=c++20", "-g", "-pthread"]
    for name, flags in BUILDS.items():
        (directory / name).mkdir()
        subprocess.run([*compiler, *flags, "-o", directory / name / "scenes", *sorted(FOLDER.glob("*.cc")), "-lz", "-latomic"], check=True)
    return {name: directory / name / "scenes" for name in BUILDS}


def scenes(program):
    """[(name, word, function, other side)]"""
    return [line.split() for line in subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.splitlines()]


def freeze(lagwatch, program, scene):
    """Lets the loop turn, freezes it, and returns how long that took in ms; None for a deadlock, which is killed when it has a report."""
    command = lagwatch.watched([program, scene[0]], threshold_ms=THRESHOLD_MS)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        feed(process, ["turn\n"] * 15 + ["freeze\n"], 0.03)
        if scene[3] == "deadlock":
            wait_for(lagwatch.reports, LONGEST_S, 0.5)
            time.sleep(1)
            return None
        feed(process, ["turn\n"] * 3, 0.03)
        line = process.stdout.readline().split()
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LONGEST_S)
        return int(line[1]) / 1e6 if line else None
    finally:
        kill_group(process)


def judged(report, scene, lasted_ms):
    """The parts of the report that are right or not, as Outcomes has them."""
    _, _, function, other = scene
    right = {"function": any(name in " ".join(report.get("cause") or []) for name in function.split("/"))}
    owner = ((report.get("waits") or [{}])[-1].get("owner")) or {}
    if other in ("owner", "peer"):
        right[other] = owner.get("name") == "culprit" and "KeepItWaiting" in " ".join(functions(owner.get("stack") or []))
    if other == "deadlock":
        right["owner"] = bool(report["deadlock"])
    if other == "candidate":
        names = [text for fact, text in sorted(report["facts"].items()) if fact.startswith("probably_waits_for_name")]
        right |= {"candidate": "culprit" in names[:2], "first_candidate": names[:1] == ["culprit"]}
    if lasted_ms:
        right["duration"] = is_within(report["duration_ms"], lasted_ms)
    return right


def missed(scene):
    """The same without a report."""
    sides = {"owner": ["owner"], "peer": ["peer"], "deadlock": ["owner"], "candidate": ["candidate", "first_candidate"], "none": []}
    return dict.fromkeys(["function", *sides[scene[3]]], False)


def said(report, lasted_ms):
    """A report in a line, for the log."""
    if report is None:
        return "no report"
    owners = [(wait["kind"], owner.get("name"), functions(owner.get("stack") or [])[:5])
              for wait in report.get("waits") or [] for owner in [wait.get("owner") or {}]]
    probably = {fact.removeprefix("probably_waits_for_"): text for fact, text in report["facts"].items() if fact.startswith("probably")}
    return (f"{word_of(report)} ({report['verdict']['word']}), {report.get('cause')}, {owners}, {probably}, "
            f"{report['duration_ms']} of {lasted_ms} ms, key {report['cluster']['level1']}")


def run(binaries, program, scene, name, load, outcomes):
    """The report's key, or None."""
    with work_directory() as directory:
        lagwatch = Lagwatch(binaries, directory / "spool")
        lasted_ms = freeze(lagwatch, program, scene)
        heads = [head for head in lagwatch.reports() if head["app"] == "scenes"]
        report = lagwatch.report(max(heads, key=lambda head: (head["duration_ms"], head["ordinal"]))) if heads else None
    right = judged(report, scene, lasted_ms) if report else missed(scene)
    row = outcomes.add(f"native {scene[0]} {name}", load, scene[1], word_of(report) if report else None, **right)
    is_right = row["word"] == row["expected"] and all(right.values())
    progress(f"{'right ' if is_right else 'WRONG '} native {scene[0]:18} {name:8} {'' if is_right else said(report, lasted_ms)}")
    return report["cluster"]["level1"] if report else None


def run_all(binaries, programs, only, load, outcomes):
    """[(whether the three runs of a scene have one key, whether the builds have)]. `only`: a part of the scenes' names."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        chosen = [scene for scene in scenes(programs["O2"]) if only in f"native {scene[0]}"]
        keys = [[pool.submit(run, binaries, programs[name], scene, name, load, outcomes) for name in RUNS] for scene in chosen]
        found = [[key.result() for key in row] for row in keys]
    same = lambda row: len(set(row)) == 1 and row[0] is not None
    for scene, row in zip(chosen, found):
        if not same(row):
            progress(f"KEYS   native {scene[0]:18} {dict(zip(['O2', 'O2 2', 'O2 3', *RUNS[3:]], row))}")
    return [(same(row[:3]), same(row[2:])) for row in found]
