# SPDX-License-Identifier: Apache-2.0
"""The ways to watch a unit: its command under `lagwatch run`, or its processes attached, or watched from outside, while they run."""
import contextlib
import os
import subprocess
import threading

from harness.lagwatch import Lagwatch
from harness.processes import QUIET

PAUSE_S = 0.25  # between two looks for new processes
AT_A_TIME = 8  # of one look, for units that start very many


class UnderRun:
    def __init__(self, binaries, threshold_ms, children):
        self.binaries, self.threshold_ms = binaries, threshold_ms
        self.options = ["--quiet", "--children", children]

    def prefix(self, spool):
        return Lagwatch(self.binaries, spool).watched([], *self.options, threshold_ms=self.threshold_ms)

    def beside(self, _mark, _spool):
        return contextlib.nullcontext()


class Outside:
    """Calls a command of lagwatch for each process of the unit, soon after it has started."""

    def __init__(self, binaries, threshold_ms, _children):
        self.binaries = binaries
        self.options = ["--threshold-ms", str(threshold_ms)]

    def prefix(self, _spool):
        return []

    @contextlib.contextmanager
    def beside(self, mark, spool):
        done, started = threading.Event(), []
        own = {name: value for name, value in os.environ.items() if not name.startswith("LAGWATCH")}  # without the mark
        own["LAGWATCH_SPOOL"] = spool

        def follow():
            known = set()
            while not done.wait(PAUSE_S):
                for pid in [pid for pid in mark.processes() if pid not in known][:AT_A_TIME]:
                    known.add(pid)
                    started.append(self.start(pid, own))
        thread = threading.Thread(target=follow)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            for process in started:
                process.terminate()
                process.wait()

    def start(self, pid, environment):
        process = subprocess.Popen([self.binaries / "lagwatch", self.command, str(pid), *self.options], env=environment, **QUIET)
        self.wait(process)
        return process


class Attach(Outside):
    command = "attach"

    def wait(self, process):
        process.wait()


class Watch(Outside):
    command = "watch"

    def wait(self, process):
        """It goes on until its target ends."""


WAYS = {"run": UnderRun, "attach": Attach, "watch": Watch}
