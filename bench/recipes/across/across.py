# SPDX-License-Identifier: Apache-2.0
"""Loops that freeze because another process does not answer, and what their reports say of that process.

`run_all` builds across.c, runs each of its scenes under `lagwatch run`, and compares the chain of waits of the report:
the kind of the last wait, the process that is waited for last, and a function on the stack of the thread that should
answer. Deadlocks must be called deadlocks, and nothing else.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import time

from expectation import show
from harness.lagwatch import Lagwatch, functions
from harness.outcomes import word_of
from harness.processes import compiled, running, wait_for
from harness.servers import Collector, Display
from harness.suite import ROOT, work_directory
from real import take_picture

FOLDER = pathlib.Path(__file__).resolve().parent
BUS_SERVICE = ROOT / "tests/tools/run/bus_service.py"
PYTHON = "/usr/bin/python3"
THRESHOLD_MS = 300
LONGEST_S = 8  # deadlocks last; three times as long at a high load

# Scene: (kind of the last wait, number of waits, the function that the answering thread is in, its name).
SCENES = {
    "pipe": ("pipe", 1, "PipeAnswer", "answering"),
    "full-pipe": ("pipe", 1, "DrainSlowly", "answering"),
    "fifo": ("pipe", 1, "FifoAnswer", "answering"),
    "socket-pair": ("unix-socket", 1, "ComputeSlowly", "answering"),
    "unix": ("unix-socket", 1, "ReadSlowly", "answering"),
    "unix-unaccepted": ("unix-socket", 1, "ServeLate", "answering"),
    "tcp": ("connection", 1, "ReadSlowly", "answering"),
    "tcp-unaccepted": ("connection", 1, "ServeLate", "answering"),
    "tcp-worker": ("connection", 1, "ComputeSlowly", "worker"),
    "lock-in-peer": ("mutex", 2, "KeepLock", "answering"),
    "child": ("child", 1, "ComputeSlowly", "answering"),
    "vfork": ("child", 1, "ReadSlowly", "answering"),
    "flock": ("file-lock", 1, "KeepFile", "answering"),
    "posix-lock": ("file-lock", 1, "KeepFile", "answering"),
    "ofd-lock": ("file-lock", 1, "KeepFile", "answering"),
    "shared-mutex": ("mutex", 1, "KeepSharedLock", "answering"),
    "chain": ("unix-socket", 2, "ComputeSlowly", "answering"),
    "idle": ("unix-socket", 1, None, "answering"),
    "stopped": ("unix-socket", 1, None, "answering"),
    "deadlock-of-two": ("file-lock", 2, "WaitInHandler", "across"),
    "deadlock-of-three": ("file-lock", 3, "WaitInHandler", "across"),
}


def faults(report, scene):
    """The fault of the report's chain of waits; empty if there is none."""
    kind, count, function, name = SCENES[scene]
    waits = report["waits"]
    if len(waits) != count:
        return f"{len(waits)} waits, not {count}"
    if "WaitInHandler" not in functions(waits[0]["stack"]):
        return "the first stack is not the handler's"
    last = waits[-1]
    if last["kind"] != kind:
        return f"it waits for {last['kind']}"
    if report["deadlock"] != scene.startswith("deadlock"):
        return "deadlock: " + str(report["deadlock"])
    owner = last["owner"]
    if owner["name"] != name:
        return f"the thread is {owner['name']}"
    if (owner.get("idle") or False) != (scene == "idle"):
        return f"idle: {owner.get('idle')}"
    if scene == "stopped":
        return "" if owner.get("state") == "T" else f"its state is {owner.get('state')}"
    found = functions(owner["stack"])
    return "" if function is None or function in found else f"it is at {found[:6]} ({owner.get('state')})"


WORDS = {"pipe": "pipe", "connection": "network", "child": "process", "file-lock": "lock", "mutex": "lock"}


def expected_word(scene):
    """Of a unix socket's the ends decide, and of a chain the first wait: no word is meant."""
    return "deadlock" if scene.startswith("deadlock") else None if SCENES[scene][1] > 1 else WORDS.get(SCENES[scene][0])


def run(scene, binaries, program, load, outcomes):
    with work_directory() as directory:
        lagwatch = Lagwatch(binaries, directory / "spool")
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(lagwatch.watched([program, scene], threshold_ms=THRESHOLD_MS), timeout=LONGEST_S * (1 if load == 1 else 3),
                           env=os.environ | {"TMPDIR": str(directory)}, check=False)
        reports = [report for report in lagwatch.whole_reports() if report["app"] == "across"]
        wrong = [faults(report, scene) for report in reports] or ["no report"]
        meant = reports[wrong.index("")] if "" in wrong else next(iter(reports), None)
        outcomes.add(f"across {scene}", load, expected_word(scene), word_of(meant) if meant else None, peer="" in wrong)
        return show("" in wrong, f"across {scene:18} {' | '.join(filter(None, wrong))}")


@contextlib.contextmanager
def gtk_program(binaries, pictures, scene, word="", **variables):
    """A GTK program under lagwatch, with a display and a collector of its own.

    Yields the display, a function that freezes the program, and one that shows whether one of the collector's reports is right.
    """
    with work_directory() as directory, Collector(binaries, directory / "data") as collector, Display() as display:
        lagwatch = collector.client(**display.environment, **variables)
        watched = lagwatch.watched([PYTHON, FOLDER / "gtk_program.py", directory / "flag", *word.split()], "--app", word or "gtk", "--spool",
                                   directory / "spool", threshold_ms=500)

        def has_right_report(is_right):
            report = wait_for(lambda: next(filter(is_right, lagwatch.whole_reports()), None), 20, 0.1)
            take_picture(collector, report, pictures, scene)
            return show(bool(report), f"across {scene}")
        with running([watched], env=lagwatch.environment):
            time.sleep(3)  # its loop is known
            yield display, (directory / "flag").touch, has_right_report


def run_bus(binaries, pictures):
    """A program that calls a D-Bus service, which waits for a lock that flock(1) has."""
    with work_directory() as directory:
        address = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={directory}/bus"}
        bus = ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={directory}/bus"]
        lock = ["flock", "--close", directory / "lock", "sleep", "10"]
        with running([bus]):
            wait_for((directory / "bus").exists)
            with (gtk_program(binaries, pictures, "bus-service-at-lock", "bus", **address) as (_, freeze, has_right_report),
                  running([lock]), running([[PYTHON, BUS_SERVICE, directory / "lock"]], env=os.environ | address) as (service,)):
                time.sleep(1)  # the service has its name
                freeze()

                def is_right(report):
                    waits = report["waits"]
                    return ([wait["kind"] for wait in waits][:2] == ["bus-call", "file-lock"]
                            and waits[0]["owner"]["process"]["pid"] == service.pid
                            and any("flock" in name for name in functions(waits[0]["owner"]["stack"]))
                            and waits[1]["owner"]["process"]["name"] == "flock")
                return has_right_report(is_right)


def run_gtk(binaries, pictures):
    """A program whose X server stands still."""
    with gtk_program(binaries, pictures, "gtk-stopped-display") as (display, freeze, has_right_report):
        display.process.send_signal(signal.SIGSTOP)
        freeze()
        time.sleep(2)
        display.process.send_signal(signal.SIGCONT)

        def is_right(report):
            wait = (report["waits"] or [{}])[0]
            owner = wait.get("owner") or {}
            return (wait.get("kind") == "display" and owner["process"]["name"] == "Xvfb" and owner["state"] == "T"
                    and "redraw_now" in [name.split(" (")[0] for name in functions(wait.get("stack") or [])])
        return has_right_report(is_right)


def run_all(binaries, only, pictures, load, outcomes):
    """Whether each scene's report is right. `only`: a part of the scenes' names; `pictures`: a folder, or None."""
    scenes = [scene for scene in SCENES if only in scene or only in "across"]
    with work_directory() as directory:
        program = compiled(FOLDER / "across.c", directory / "across")
        outcomes = [run(scene, binaries, program, load, outcomes) for scene in scenes]
    has_gtk = subprocess.run(["/usr/bin/python3", "-c", "import gi; gi.require_version('Gtk', '3.0')"],
                             capture_output=True).returncode == 0
    if has_gtk and only in "across gtk":
        outcomes.append(run_gtk(binaries, pictures))
    if has_gtk and only in "across bus":
        outcomes.append(run_bus(binaries, pictures))
    return outcomes
