# SPDX-License-Identifier: Apache-2.0
"""Programs in deadlocks that no single process or kind of lock shows, and whether their reports name both sides.

Their pictures are in docs/design/peers.md and docs/design/locks.md.
"""
import contextlib
import os
import subprocess

from expectation import show
from harness.lagwatch import functions
from harness.processes import compiled, running, wait_for
from harness.servers import Collector
from harness.suite import ROOT, work_directory
from real import take_picture

FOLDER = ROOT / "tests/tools/run"
PYTHON = "/usr/bin/python3"
THRESHOLD_MS = 500


def has_both(report, *sides):
    """Whether the report is of a deadlock of two threads, at a function and in a kind of wait each."""
    waits = report["waits"]
    return (report["deadlock"] and [wait["kind"] for wait in waits] == [kind for _, kind in sides]
            and all(any(name.startswith(function) for name in functions(wait["stack"]))
                    for wait, (function, _) in zip(waits, sides)))


@contextlib.contextmanager
def collected(binaries, directory):
    """A collector, and a function that makes the command of a program whose reports go there."""
    with Collector(binaries, directory / "data") as collector:
        lagwatch = collector.client(PYTHONDONTWRITEBYTECODE="1")

        def watched(app, command):
            return lagwatch.watched(command, "--app", app, "--spool", directory / f"spool-{app}", threshold_ms=THRESHOLD_MS)
        yield collector, lagwatch, watched


def outcome(collector, lagwatch, pictures, name, is_right):
    report = wait_for(lambda: next(filter(is_right, lagwatch.whole_reports()), None), 20, 0.1)
    take_picture(collector, report, pictures, f"deadlock-{name}")
    return show(bool(report), f"deadlock {name}")


def run_alone(binaries, pictures, name, command, *sides):
    with work_directory() as directory, collected(binaries, directory) as (collector, lagwatch, watched):
        reader, writer = os.pipe()
        with (running([watched(name, command(directory))], env=lagwatch.environment, stdin=reader, stderr=subprocess.DEVNULL)):
            is_right = outcome(collector, lagwatch, pictures, name, lambda report: has_both(report, *sides))
        os.close(reader)
        os.close(writer)
        return is_right


def run_once(binaries, pictures):
    """A thread that runs an initializer needs a mutex, whose owner waits for the initializer."""
    return run_alone(binaries, pictures, "once",
                     lambda directory: [compiled(FOLDER / "deadlocks/once_and_mutex.cc", directory / "once", "-std=c++20", compiler="c++")],
                     ("Plugins::Index", "once"), ("Plugins::BuildIndex", "mutex"))


def run_guard(binaries, pictures):
    """A constructor needs Python's global lock, whose owner waits for the object."""
    return run_alone(binaries, pictures, "guard",
                     lambda directory: [PYTHON, FOLDER / "deadlocks/guard_and_gil.py",
                                        compiled(FOLDER / "deadlocks/guard_and_gil.cc", directory / "guard.so", "-std=c++20", "-shared",
                                                 "-fPIC", compiler="c++")],
                     ("show_settings", "once"), ("load_settings", "interpreter-lock"))


def run_bus(binaries, pictures):
    """A program calls a service over D-Bus, which calls the program back before it answers."""
    names = ["org.lagwatch.Mail", "org.lagwatch.Calendar"]
    with work_directory() as directory, collected(binaries, directory) as (collector, lagwatch, watched):
        address = f"unix:path={directory}/bus"
        lagwatch.environment["DBUS_SESSION_BUS_ADDRESS"] = address
        bus = ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={address}"]
        commands = [watched(own.rpartition(".")[2].lower(), [PYTHON, FOLDER / "bus_pair.py", "gdbus", own, other])
                    for own, other in (names, reversed(names))]
        with running([bus]):
            wait_for((directory / "bus").exists)
            with running(commands, env=lagwatch.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as programs:
                for program in programs:
                    program.stdout.readline()  # it has its name
                programs[0].stdin.write("call\n")
                programs[0].stdin.flush()
                return outcome(collector, lagwatch, pictures, "bus",
                               lambda report: report["app"] == "mail" and has_both(report, ("ask_other", "bus-call"), ("", "bus-call")))


def run_all(binaries, only, pictures):
    """Whether each deadlock's report names both sides. `only`: a part of the names; `pictures`: a folder, or None."""
    runs = {"once": run_once, "guard": run_guard, "bus": run_bus}
    return [run(binaries, pictures) for name, run in runs.items() if only in f"deadlock {name}"]
