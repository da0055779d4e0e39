# SPDX-License-Identifier: Apache-2.0
"""Hosts at random: a seed chooses a compiler, ingredients, libraries and the way in which the program is started.

The ingredients are bench/hosts/random/, and so is the truth: the program says which hangs it plants.
"""
import dataclasses
import pathlib
import random
import shutil
import subprocess
import threading

import sanitized_hosts

FOLDER = pathlib.Path(__file__).parent / "random"
THRESHOLD_MS = 400  # steps are far shorter, hangs 900 ms
STEPS = 36

# Behaviour that the program switches on, and what stands in for parts of the C library or runs first: its own object files.
BASIC = ["hangs", "processes", "signals", "system", "threads"]
SPECIAL = ["exec", "floats", "inside", "names", "namespaces", "pinned", "priorities", "takers", "times"]
LINKED = ["early", "own_clock", "own_heap", "own_names"]
LIBRARIES = {"early_library": ("early", ["-DIN_LIBRARY"]), "clock_library": ("own_clock", [])}
STARTS = {
    "by_shell": ["sh", "-c", 'exec "$@"', "sh"],
    "by_env": ["env", "-i", "PATH=/usr/bin:/bin"],
    "by_nice": ["nice", "-n", "1"],
    "by_batch": ["chrt", "-b", "0"],
    "by_timeout": ["timeout", "50"],
}
OPTIONS = {"all_threads": "all", "all_children": "children", "hooks": "hooks"}
# Runtimes of sanitizers come before these, or stop the program themselves.
NOT_SANITIZED = {*LINKED, *LIBRARIES, "floats", "inside", "namespaces", "takers"}

FLAGS = ["-std=gnu11", "-g", "-fno-omit-frame-pointer", "-pthread", "-I", str(FOLDER.parents[2])]


@dataclasses.dataclass
class Plan:
    seed: int
    compiler: list  # with flags
    parts: list  # names of all that is on

    @property
    def name(self):
        return f"random_{self.seed}"

    def without(self, part):
        return dataclasses.replace(self, parts=[other for other in self.parts if other != part])

    def having(self, part):
        return dataclasses.replace(self, parts=[*self.parts, part])

    def start(self):
        return next((way for name, way in STARTS.items() if name in self.parts), [])


def plan(seed):
    draw = random.Random(seed)
    compilers = [["gcc", "-O1"], ["gcc", "-O2"]] + [["clang-16", "-O2"]] * bool(shutil.which("clang-16"))
    compiler = draw.choice(compilers)
    sanitized = [command for name, command in sanitized_hosts.builds() if not sanitized_hosts.is_refused(name)]
    is_sanitized = draw.random() < 0.2 and bool(sanitized)
    if is_sanitized:
        compiler = [*draw.choice(sanitized), "-O1"]
    parts = [part for part in BASIC if draw.random() < 0.85]
    parts += [part for part in SPECIAL if draw.random() < 0.3]
    parts += [part for part in [*LINKED, *LIBRARIES] if draw.random() < 0.25]
    parts += [draw.choice(list(STARTS))] if draw.random() < 0.5 else []
    parts += [part for part in OPTIONS if draw.random() < 0.25]
    if is_sanitized:
        parts = [part for part in parts if part not in NOT_SANITIZED]
    return Plan(seed, compiler, parts)


class Builder:
    """Builds programs in `directory`; what two of them share is compiled once."""

    def __init__(self, directory):
        self.directory = directory
        self.lock = threading.Lock()
        self.built = {}

    def make(self, command, suffix):
        """The file that `command` writes, which ends in `-o`."""
        key = tuple(command)
        with self.lock:
            if key not in self.built:
                path = str(self.directory / f"{len(self.built)}{suffix}")
                subprocess.run([*command, "-o", path], check=True)
                self.built[key] = path
            return self.built[key]

    def object(self, compiler, source):
        return self.make([*compiler, *FLAGS, "-fno-builtin", "-c", str(source)], ".o")

    def library(self, name):
        source, flags = LIBRARIES[name]
        return self.make(["gcc", "-O1", *FLAGS, *flags, "-shared", "-fPIC", str(FOLDER / f"{source}.c")], ".so")

    def program(self, plan):
        sources = sorted(FOLDER.glob("random_*.c")) + [FOLDER / f"{part}.c" for part in LINKED if part in plan.parts]
        objects = [self.object(plan.compiler, source) for source in sources]
        libraries = [self.library("early_library")] if "early_library" in plan.parts else []
        return self.make([*plan.compiler, "-pthread", *objects, "-Wl,--no-as-needed", *libraries, "-lm"], ".bin")

    def command(self, plan):
        """Starts the program; --truth as the first argument would print its hangs and traits."""
        start = list(plan.start())
        if "clock_library" in plan.parts:
            start += ["env", "LD_PRELOAD=" + self.library("clock_library")]
        return start, [self.program(plan)]

    def host(self, plan, host_type):
        start, program = self.command(plan)
        arguments = [str(plan.seed), str(STEPS), ",".join(plan.parts)]
        truth = subprocess.run([*program, "--truth", *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()
        hangs, traits = truth.splitlines()[-1].split("\t")
        traits = {traits} | {trait for part, trait in OPTIONS.items() if part in plan.parts}
        if "takers" in plan.parts:  # all signals are blocked
            traits.add("nostack")
        return host_type(plan.name, [*start, *program, *arguments], sorted({hang for hang in hangs.split(",") if hang}),
                         traits, THRESHOLD_MS)


def smallest(plan, differs):
    """Leaves out all parts without which the host still differs."""
    for part in list(plan.parts):
        if differs(smaller := plan.without(part)):
            plan = smaller
    return plan
