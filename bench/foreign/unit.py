# SPDX-License-Identifier: Apache-2.0
"""Runs one unit of a suite (a module, a stressor, a program of tests), bare or watched, and says what became of its tests."""
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import time
import typing
import xml.etree.ElementTree

from harness import leftovers
from harness.lagwatch import Lagwatch
from harness.processes import kill_group
from harness.suite import work_directory

LEFT_S = 5  # so long a process may take to end after its unit
END = "(end)"  # how the unit itself ended: compared as tests are, and not counted as one
LEFT = "(left)"  # what it left
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # Debian's programs


@dataclasses.dataclass
class Unit:
    """The command is run in a directory of its own; `{directory}` in its words and in its environment is that directory.

    `parse` gets the directory, the standard output and the exit code, and returns each test's outcome.
    """
    name: str
    command: list
    parse: typing.Callable
    outer: list = dataclasses.field(default_factory=list)  # a command in front that is not watched: dbus-run-session, xvfb-run
    environment: dict = dataclasses.field(default_factory=dict)
    directory: str = ""  # instead of an empty one
    user: str = ""  # of the unit; `outer` changes to this user
    timeout_s: int = 120


@dataclasses.dataclass
class Result:
    outcomes: dict  # of tests by name, END and LEFT
    output: str
    reports: int = 0  # of a watched run
    seconds: float = 0


def without_numbers(text):
    return re.sub(r"0x[0-9a-f]+|\d+", "N", text)


def named(pairs):
    """Outcomes by name, with a number behind names that come again."""
    outcomes = {}
    for name, outcome in pairs:
        unique, count = name, 1
        while unique in outcomes:
            count += 1
            unique = f"{name} #{count}"
        outcomes[unique] = outcome
    return outcomes


def by_exit_code(_directory, _output, code):
    return {"the program": "passed" if code == 0 else "skipped" if code == 77 else f"exit code {code}"}


def tap(directory, output, code):
    """The Test Anything Protocol. Descriptions may differ from run to run, numbers do not."""
    lines = re.findall(r"^(not ok|ok) (\d+)(.*)$", output, re.MULTILINE)
    if not lines:
        return by_exit_code(directory, output, code)
    return named((number, "skipped" if re.search("# *skip", rest, re.IGNORECASE) else
                  "passed" if word == "ok" or re.search("# *todo", rest, re.IGNORECASE) else "failed")
                 for word, number, rest in lines)


def glib(directory, output, code):
    """GLib's tests without --tap; others have no such lines."""
    lines = re.findall(r"^(/\S+): +(?:.* )?(OK|SKIP|FAIL)\b", output, re.MULTILINE)
    return named((name, {"OK": "passed", "SKIP": "skipped"}.get(word, "failed")) for name, word in lines) or tap(directory, output, code)


def junit(directory, _output, _code):
    try:
        root = xml.etree.ElementTree.parse(directory + "/junit.xml").getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return {}
    cases = [(".".join(filter(None, [case.get("classname"), case.get("name")])), {child.tag for child in case})
             for case in root.iter("testcase")]
    return named((without_addresses(name), next((word for word in ("error", "failure", "skipped") if word in children), "passed"))
                 for name, children in cases)


def without_addresses(name):
    return re.sub(r"0x[0-9a-f]+", "0xN", name)


def left_by(mark):
    """One line, the same for runs that left the same."""
    lines = mark.take(LEFT_S)
    files = sum(line.startswith("file") for line in lines)
    return "; ".join(sorted(without_numbers(line.replace(mark.directory, "")) for line in lines if not line.startswith("file")) +
                     ([f"{files} files"] if files else []))


def environment_of(unit, directory, mark):
    kept = {name: value for name, value in mark.environment.items() if not name.startswith(("LAGWATCH", "LD_", "PYTHON", "PYENV"))}
    for name in ("home", "runtime", "work"):
        os.mkdir(f"{directory}/{name}", 0o700)
    for path in (directory, *(f"{directory}/{name}" for name in ("home", "runtime", "work"))):
        if unit.user:
            shutil.chown(path, unit.user)
    own = {name: value.format(directory=directory) for name, value in unit.environment.items()}
    return dict(kept, PATH=PATH, HOME=directory + "/home", XDG_RUNTIME_DIR=directory + "/runtime", LC_ALL="C.UTF-8", **own)


def exit_code(process, timeout_s):
    """None if it does not end in that time."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        kill_group(process)
        return None


def run(unit, way, timeout_factor):
    """`way` is one of ways.py; None runs it bare."""
    with work_directory() as path, leftovers.Mark() as mark:
        directory = str(path)
        spool = directory + "/spool"
        command = [word.replace("{directory}", directory) for word in unit.command]
        command = [word.replace("{directory}", directory) for word in unit.outer] + (way.prefix(spool) if way else []) + command
        environment = environment_of(unit, directory, mark)
        started = time.monotonic()
        with open(directory + "/stdout", "wb") as output, open(directory + "/stderr", "wb") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment,
                                       cwd=unit.directory or directory + "/work", start_new_session=True)
            with way.beside(mark, spool) if way else contextlib.nullcontext():
                code = exit_code(process, unit.timeout_s * timeout_factor)
        seconds = time.monotonic() - started
        left = "" if code is None else left_by(mark)
        mark.take(0)
        output, errors = (pathlib.Path(directory, name).read_text(errors="replace") for name in ("stdout", "stderr"))
        outcomes = unit.parse(directory, output, code)
        reports = len(Lagwatch(way.binaries, spool).reports()) if way else 0
    return Result(outcomes | {END: "did not end" if code is None else f"exit code {code}", LEFT: left},
                  f"{' '.join(command)}\n{output}\n--- standard error\n{errors}", reports, seconds)
