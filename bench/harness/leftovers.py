# SPDX-License-Identifier: Apache-2.0
"""Finds the leftovers of a program: processes that still run, and temporary files.

The counterpart of tests/testing/leftovers.h. All that is started with the environment of a Mark is found by its TMPDIR.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import tempfile
import time

from harness.processes import all_stats

PAUSE_S = 0.05


class Mark:
    """A temporary directory of its own, for programs that are looked at one after the other."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="lagwatch-left-")
        os.chmod(self.directory, 0o1777)  # programs may run as another user
        self.environment = dict(os.environ, TMPDIR=self.directory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def processes(self):
        """The command lines of those that run, by id."""
        wanted = f"TMPDIR={self.directory}".encode()
        found = {}
        for pid in [pid for pid, stat in all_stats().items() if stat.state not in "ZX"]:
            process = pathlib.Path(f"/proc/{pid}")
            with contextlib.suppress(OSError):
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    found[pid] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return found

    def take(self, patience_s):
        """A line for each process that does not end in that time, which is killed then, and for each file."""
        deadline = time.monotonic() + patience_s
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        files = sorted(os.listdir(self.directory))
        for name in files:
            path = os.path.join(self.directory, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        return [f"process: {command.strip()}" for command in left.values()] + [f"file: {name}" for name in files]


def more_than(watched, bare):
    """Returns the leftovers of a watched run that the bare one does not have; names of temporary files differ from run to run."""
    def kinds(lines):
        return [line if line.startswith("process") else "file" for line in lines]
    rest = kinds(bare)
    more = []
    for line, kind in zip(watched, kinds(watched)):
        if kind in rest:
            rest.remove(kind)
        else:
            more.append(line)
    return more
