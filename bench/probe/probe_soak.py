#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Consoles of `lagwatch probe`, again and again, on a program whose eight threads throw, jump, fork, are cancelled, load and
unload libraries, recurse and switch stacks.

In a cycle of "ended", one console counts the calls and returns of a function that is called a known number of times, while
another has probes at the program's or the C library's functions and comes and goes; both end as users end them. In a cycle
of "killed", both are killed at a random moment; every tenth killed console's counts are read by another. Each tenth program
is a new one.

Prints for both kinds cycles; crashes, programs that ended; wrong_results of the threads' and the probed calls; hits_made and
hits_counted, each call and each return; refused, consoles that could not arm; differing_bytes of the programs' code, in the
end, from their files; left, descriptors that a program has beyond those after its first cycle.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import suite

TARGETS = ["lagwatch-cli", "lagwatch_preload", "bench_soaked_program"]
COUNTED = "soaked_call { count } soaked_call @return { count }"
BESIDE = ["bench_soaked_program!* @return { count by function }", "bench_soaked_program!* { count by caller }",
          "libc!str* @return { histogram(duration) } libc!mem* { count }", "libc!* { count by function } throw { count by stack }",
          "libc!* @return if duration > 1s { print(duration, stack) }"]
CALLS = 50


class SoakedProgram:
    def __init__(self, binaries):
        library = binaries.parent / "tests/trace/instrument/libflow_subject.so"
        self.process = subprocess.Popen([binaries / "bench_soaked_program", library], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid
        self.process.stdout.readline()
        self.first = None

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            return self.process.stdout.readline().split()
        except BrokenPipeError:
            return []

    def grown(self):
        """Descriptors beyond those after the first cycle."""
        # Its threads open files for a moment.
        count = min(len(os.listdir(f"/proc/{self.pid}/fd")) for _ in range(20))
        self.first = self.first or count
        return count - self.first

    def end(self):
        self.process.stdin.close()
        return self.process.wait(30)


class Console:
    """One `lagwatch probe`."""

    def __init__(self, binaries, pid, *arguments):
        self.process = subprocess.Popen([binaries / "lagwatch", "probe", str(pid), *arguments, "--json"], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.errors, self.output, self.armed = [], [], threading.Event()
        self.readers = [threading.Thread(target=self.read, args=(self.process.stderr, self.errors)),
                        threading.Thread(target=self.read, args=(self.process.stdout, self.output))]
        for reader in self.readers:
            reader.start()

    def read(self, stream, lines):
        for line in stream:
            lines.append(line)
            if "armed at" in line:
                self.armed.set()
        if lines is self.errors:
            self.armed.set()

    def is_armed(self):
        self.armed.wait(60)
        return any("armed at" in line for line in self.errors)

    def end(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        self.process.wait(60)
        for reader in self.readers:
            reader.join()

    def counted(self):
        return counted("".join(self.output))


def counted(output):
    """The sum of the last row of each of the console's tables."""
    rows = [json.loads(line) for line in output.splitlines()]
    return sum({row["aggregate"]: row["count"] for row in rows if "aggregate" in row}.values())


class Soak:
    def __init__(self, binaries, is_killing, seed):
        self.binaries, self.is_killing, self.random = binaries, is_killing, random.Random(seed)
        self.figures = dict.fromkeys(["cycles", "crashes", "operations", "wrong_results", "hits_made", "hits_counted",
                                      "refused", "differing_bytes", "left"], 0)
        self.program = None

    def console(self, *arguments):
        return Console(self.binaries, self.program.pid, *arguments)

    def command(self, *arguments):
        return subprocess.run([self.binaries / "lagwatch", "probe", str(self.program.pid), *arguments], capture_output=True,
                              text=True, timeout=120)

    def run(self, cycles):
        for cycle in range(cycles):
            if cycle % 10 == 0:
                self.end_program()
                self.program = SoakedProgram(self.binaries)
            (self.killed if self.is_killing else self.ended)(cycle)
            self.figures["cycles"] += 1
            if self.program.process.poll() is not None or not self.program.ask(f"calls {CALLS}"):
                suite.progress(f"cycle {cycle}: the program ended: {self.program.process.poll()}")
                self.figures["crashes"] += 1
                self.program = SoakedProgram(self.binaries)
            self.program.grown()
            if cycle % 50 == 49:
                suite.progress(json.dumps(self.figures))
        self.end_program()
        return self.figures

    def ended(self, cycle):
        beside, console = self.console(self.random.choice(BESIDE)), self.console(COUNTED)
        if self.armed(console):
            self.called(lambda: (console.end(), console.counted())[1], cycle)
        else:
            console.end()
        if self.random.random() < 0.5:
            self.armed(beside)
        beside.end()

    def killed(self, cycle):
        beside, console = self.console(self.random.choice(BESIDE)), self.console(COUNTED)
        if cycle % 10 == 5 and self.armed(console):
            console.end(signal.SIGKILL)
            beside.end(signal.SIGKILL)
            self.called(lambda: counted(self.command("--reattach", "--id", str(self.orphan()), "--for", "100ms", "--json").stdout), cycle)
        time.sleep(self.random.random() * self.random.choice([0.05, 0.5]))
        for one in (console, beside):
            one.end(signal.SIGKILL)
        if cycle % 5 == 4:
            self.disarm()

    def orphan(self):
        """The id of the counting script whose console was killed; the program notices that in its own time."""
        while True:
            for row in self.armed_scripts():
                if row["title"] == COUNTED and not row["consoles"]:
                    return row["id"]

    def armed_scripts(self):
        return map(json.loads, self.command("--armed", "--json").stdout.splitlines())

    def disarm(self):
        for row in self.armed_scripts():
            self.command("--disarm", "--id", str(row["id"]))

    def armed(self, console):
        if console.is_armed():
            return True
        self.figures["refused"] += 1
        suite.progress("refused:", "".join(console.errors))
        return False

    def called(self, read_count, cycle):
        """Has the program make the calls, and compares them with the count."""
        self.program.ask(f"calls {CALLS}")
        count = read_count()
        if count != 2 * CALLS:
            suite.progress(f"cycle {cycle}: {count} of {2 * CALLS} hits")
        self.figures["hits_made"] += 2 * CALLS
        self.figures["hits_counted"] += count

    def end_program(self):
        if self.program is None:
            return
        if self.is_killing:
            self.disarm()
        operations, wrong, differing = map(int, self.program.ask("stop") or (0, 0, 0))
        if differing:
            suite.progress(f"{differing} bytes differ")
        self.figures["operations"] += operations
        self.figures["wrong_results"] += wrong
        self.figures["differing_bytes"] += differing
        self.figures["left"] += max(0, self.program.grown())
        code = self.program.end()
        if code != 0:
            suite.progress(f"the program ended: {code}")
        self.figures["crashes"] += code != 0


def is_right(figures):
    return figures["hits_made"] == figures["hits_counted"] and not any(
        figures[key] for key in ("crashes", "wrong_results", "refused", "differing_bytes"))


def main():
    options = suite.parser(__doc__)
    options.add_argument("--cycles", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    arguments = suite.parse(options)
    figures = {}
    with suite.work_directory() as work:
        os.environ["LAGWATCH_SPOOL"] = str(work)
        for kind in ("ended", "killed"):
            figures[kind] = Soak(arguments.bin, kind == "killed", arguments.seed).run(arguments.cycles)
    return suite.result({f"{kind}_{key}": value for kind in figures for key, value in figures[kind].items()},
                        all(map(is_right, figures.values())))


if __name__ == "__main__":
    sys.exit(main())
