#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Freezes programs of many languages in known lines, under `lagwatch run`, and reads which lines the reports blame.

A recipe is a program of this directory. It reads lines from standard input and freezes at the line "freeze", in the line
that ends with the comment `FREEZE NAME`: NAME is the function. A comment `KEEPS NAME` marks the line of another thread
that keeps what the frozen one waits for, and is to be named instead; `ALSO NAME` one that is to be named, too,
and `BETWEEN NAME` a native function that has called the frozen one.
`VERDICT WORD` is the word that a report that names them has, `OPTIONS` are its run time's. A file in C of the same name is
the library RECIPE_LIBRARY. A language that is missing is left out; one recipe needs root.

Prints `recipes`, `named` (a report names function and line) and `named_pct`; `early` and `early_named` of loops of one and of many
descriptors that freeze in their first, fifth and fiftieth dispatch (early/); `across` and `across_named` of programs that wait for
another process, with the wait's kind and the process, thread and function that keep it, and of three deadlocks (across/); and `programs` and
`programs_named` of real servers under load (real.py).

`words_pct`, `functions_pct`, `owners_pct`, `peers_pct`, `candidates_in_first_two_pct` and `durations_within_2_pct` are the shares of
reports that are right, of all these and of a program in C++ in three builds (native/), as far as a recipe has such a thing;
`key_same_runs_pct` and `key_same_builds_pct` those of its scenes that have one key in three runs, and in three builds.

All of it is measured on the machine as it is, and again beside 20 processes that compute (keys that begin with `load20_`; there a
third of the early freezes). `--load 1` or `--load 20` measures only one of them.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import real
from across import across, deadlocks
from early import early
from expectation import expectation, marks, matches, show
from harness import suite
from harness.lagwatch import Lagwatch
from harness.load import figures_at
from harness.outcomes import Outcomes, word_of
from harness.processes import feed
from harness.servers import SilentNameServer
from native import native

PACKAGES = ["gir1.2-gtk-3.0", "libnetty-java", "lua-socket", "lua5.1", "lua5.3", "lua5.4", "luajit", "nodejs", "npm", "openjdk-17-jdk-headless",
            "openjdk-17-jre", "perl", "php-cli", "python3-aiohttp", "python3-gi", "redis-server", "redis-tools", "ruby", "xvfb"]
TARGETS = ["lagwatch-cli", "lagwatch-collector", "lagwatch_preload", "lagwatch_jvm"]
FOLDER = pathlib.Path(__file__).resolve().parent
THRESHOLD_MS = 300
LONGEST_START_S, LONGEST_S = 90, 15
OWN = ["expectation.py", "real.py", "recipes.py"]  # no recipes
# The verdict's words of recipes, by the beginnings of their names; others have the mark VERDICT, or none that is meant.
WORDS = {"child": "process", "compiled": "cpu", "cpu": "cpu", "database_lock": "sleep", "file": "pipe", "generator": "sleep", "getaddrinfo": "name-lookup",
         "hash": "cpu", "json_text": "cpu", "pattern": "cpu", "regex": "cpu", "sleep": "sleep", "sort": "sleep"}
RUNTIMES = {".py": [["/usr/bin/python3"]], ".js": [["node"]], ".lua": [["lua5.1"], ["lua5.3"], ["lua5.4"], ["luajit"], ["luajit", "-joff"]], ".rb": [["ruby"]],
            ".pl": [["perl"]], ".php": [["php"]],
            ".java": [["java"]]}


def drive(program, directory):
    """Lets the loop turn a few times, freezes it, and ends it."""
    def freeze():
        feed(program, ["turn\n"] * 15 + ["freeze\n"], 0.03)
        time.sleep(1.2)
        with contextlib.suppress(OSError), open(os.open(directory / "fifo", os.O_WRONLY | os.O_NONBLOCK), "w") as file:
            file.write("late\n")  # a read of the file ends
        time.sleep(0.2)
        with contextlib.suppress(OSError):
            program.stdin.close()
    thread, killer = threading.Thread(target=freeze), threading.Timer(LONGEST_START_S, program.kill)
    thread.start()
    killer.start()
    thread.join()
    killer.cancel()
    try:
        program.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        program.kill()  # of a deadlock; its report is on disk


def blamed(report, is_others):
    """The script's frames that a report blames: of its stack the ones that make the cause, of a lock's owner all."""
    if is_others:
        waits = report.get("waits") or []
        return [frame for wait in waits if wait.get("owner") for frame in wait["owner"]["stack"]]
    causes = report.get("cause") or []
    return [frame for frame in report["expensive_stack"] if frame.get("function") in causes]


def is_named_in(report, recipe):
    name, line, is_others = expectation(recipe)
    found = marks(recipe)
    if "VERDICT" in found and report["verdict"]["word"] != found["VERDICT"][0]:
        return False
    if "ALSO" in found and not any(matches(frame, *found["ALSO"]) for frame in blamed(report, True)):
        return False
    if "BETWEEN" in found:
        functions = [(frame.get("function") or "").split(" (")[0].split(".")[-1] for frame in report["expensive_stack"]]
        if name not in functions or found["BETWEEN"][0] not in functions[functions.index(name):]:
            return False
    return any(matches(frame, name, line) for frame in blamed(report, is_others))


def build_library(recipe, directory):
    """The shared library of a recipe's file in C; its path."""
    library = directory / "recipe.so"
    java = pathlib.Path(shutil.which("javac")).resolve().parent.parent / "include"
    subprocess.run(["cc", "-shared", "-fPIC", "-g", "-o", str(library), str(recipe.with_suffix(".c")), f"-I{java}",
                    f"-I{java}/linux"], check=True)
    return str(library)


def expected_word(recipe):
    """None if no word is meant."""
    marked = marks(recipe).get("VERDICT")
    return marked[0] if marked else next((word for start, word in WORDS.items() if recipe.stem.startswith(start)), None)


def run(recipe, runtime, binaries, is_verbose, load, outcomes):
    name, line, is_others = expectation(recipe)
    with suite.work_directory() as directory, open(directory / "log", "w+") as log:
        lagwatch = Lagwatch(binaries, directory / "spool")
        os.mkfifo(directory / "fifo")
        options = marks(recipe).get("OPTIONS", ("", 0))[0].split()
        command = lagwatch.watched([*runtime, *options, recipe], threshold_ms=THRESHOLD_MS)
        if "getaddrinfo" in recipe.name:
            command = SilentNameServer.command(directory) + command
        environment = os.environ | {"FIFO": str(directory / "fifo")}
        if recipe.with_suffix(".c").exists():
            environment["RECIPE_LIBRARY"] = build_library(recipe, directory)
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True, env=environment)
        drive(program, directory)
        reports = lagwatch.whole_reports()
        right = next((report for report in reports if is_named_in(report, recipe)), None)
        is_named = right is not None
        meant = right or next(iter(reports), None)
        outcomes.add(f"{' '.join(runtime)} {recipe.name}", load, expected_word(recipe), word_of(meant) if meant else None,
                     **{"owner" if is_others else "function": is_named})
        if not show(is_named, f"{' '.join(runtime):18} {recipe.name:24} {name}:{line}") and is_verbose:
            log.seek(0)
            suite.progress(log.read()[-2000:])
            for report in reports:
                suite.progress(report.get("cause"), report["verdict"])
                for note, frames in (("   ", report["expensive_stack"]), ("      owner", blamed(report, True))):
                    for frame in frames[:12]:
                        suite.progress(note, frame.get("function") or frame.get("module"), frame.get("line"))
        return is_named


def run_all(binaries, only, is_verbose, load, outcomes):
    with SilentNameServer():
        for recipe in sorted(FOLDER.iterdir()):
            if recipe.suffix not in RUNTIMES or recipe.name in OWN or only not in recipe.name:
                continue
            for runtime in RUNTIMES[recipe.suffix]:
                if shutil.which(runtime[0]) is None:
                    suite.progress(f"left out {recipe.name}: there is no {runtime[0]}")
                else:
                    yield run(recipe, runtime, binaries, is_verbose, load, outcomes)


def percent(part):
    return round(100 * sum(part) / len(part), 1) if part else None


def measure(arguments, natives, load, outcomes):
    """The figures at that load, which is there."""
    binaries, only = arguments.bin, arguments.only
    recipes = list(run_all(binaries, only, arguments.verbose, load, outcomes))
    loops = early.run_all(binaries, only, load, outcomes)
    processes = across.run_all(binaries, only, arguments.pictures, load, outcomes)
    processes += deadlocks.run_all(binaries, only, arguments.pictures)
    programs = real.run_all(binaries, only, arguments.pictures, load, outcomes)
    keys = native.run_all(binaries, natives, only, load, outcomes)
    figures = {"recipes": len(recipes), "named": sum(recipes), "named_pct": round(100 * sum(recipes) / max(len(recipes), 1), 1),
               "early": len(loops), "early_named": sum(loops), "across": len(processes), "across_named": sum(processes),
               "programs": len(programs), "programs_named": sum(programs)}
    return figures | outcomes.figures(load) | {"key_same_runs_pct": percent([runs for runs, _ in keys]),
                                               "key_same_builds_pct": percent([builds for _, builds in keys])}


def main():
    options = suite.measured_at_loads(suite.parser(__doc__, only="a part of the recipes' names"))
    options.add_argument("--pictures", help="a directory for pictures of the pages about the real programs' reports")
    options.add_argument("-v", "--verbose", action="store_true", help="show the reports of recipes that were missed")
    arguments = suite.parse(options)
    outcomes = Outcomes("recipes", arguments.outcomes)
    with suite.work_directory() as directory:
        natives = native.build(directory)
        figures = figures_at(suite.loads_of(arguments), lambda load: measure(arguments, natives, load, outcomes))
    outcomes.keep()
    return suite.result(figures)


if __name__ == "__main__":
    sys.exit(main())
