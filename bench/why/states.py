# SPDX-License-Identifier: Apache-2.0
"""Processes that are frozen for a reason that the kernel knows, besides their own functions: each is a context that yields a Case.

They need root: for a file system that takes no changes, control groups with limits, and a name server of their own.
"""
import contextlib
import dataclasses
import pathlib
import signal
import socket
import subprocess
import time

from freezes.freezing import PYTHON
from harness.processes import QUIET, compiled, kill_group, running, wait_for

FOLDER = pathlib.Path(__file__).parent
PACKAGES = ["libx11-6", "util-linux", "xvfb"]
GROUPS = pathlib.Path("/sys/fs/cgroup")


@dataclasses.dataclass
class Case:
    """`function` is in the sentence, and one of the words of `culprit`; either may be empty."""
    pid: int
    function: str
    culprit: str


class States:
    def __init__(self, work):
        self.work = work
        self.program = compiled(FOLDER / "states.c", work / "states")

    @contextlib.contextmanager
    def case(self, function, culprit, *arguments, before=()):
        with running([[*before, self.program, *arguments]], **QUIET) as (process,):
            time.sleep(0.5)
            yield Case(process.pid, function, culprit)

    @contextlib.contextmanager
    def stopped(self):
        with running([["sleep", "60"]], **QUIET) as (process,):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
            yield Case(process.pid, "", "CONT SIGSTOP")
            process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def dead(self):
        script = "import os,time\nif os.fork() == 0: os._exit(3)\ntime.sleep(60)"
        with running([[PYTHON, "-c", script]], **QUIET) as (parent,):
            time.sleep(0.5)
            children = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
            yield Case(int(children[0]), "", str(parent.pid))

    @contextlib.contextmanager
    def vfork(self):
        with running([[self.program, "vfork"]], **QUIET) as (process,):
            time.sleep(0.5)
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            yield Case(process.pid, "RunHelper", children[0])

    @contextlib.contextmanager
    def disk(self):
        """In uninterruptible sleep."""
        image, mount = self.work / "image", self.work / "mount"
        mount.mkdir()
        run = lambda *command: subprocess.run([str(word) for word in command], check=True, **QUIET)
        run("truncate", "--size=20M", image)
        run("mkfs.ext4", "-q", image)
        run("mount", "-o", "loop", image, mount)
        try:
            run("fsfreeze", "--freeze", mount)
            try:
                with self.case("SaveSettings", "mount/settings", "save", mount / "settings") as case:
                    yield case
                    run("fsfreeze", "--unfreeze", mount)
            finally:
                subprocess.run(["fsfreeze", "--unfreeze", mount], check=False, **QUIET)
        finally:
            wait_for(lambda: subprocess.run(["umount", mount], check=False, **QUIET).returncode == 0)

    @contextlib.contextmanager
    def group(self, controller, **limits):
        group = GROUPS / controller / "lagwatch_bench_why"
        group.mkdir()
        try:
            for name, limit in limits.items():
                (group / f"{controller}.{name}").write_text(str(limit))
            yield ["sh", "-c", f'echo $$ > {group}/tasks && exec "$@"', "sh"]
        finally:
            wait_for(lambda: group.rmdir() or True)

    @contextlib.contextmanager
    def throttled(self):
        """It may use a twentieth of a processor."""
        with self.group("cpu", cfs_quota_us=5000) as before, self.case("ComputeChecksum", "limit throttled quota", "compute", before=before) as case:
            yield case

    @contextlib.contextmanager
    def swapping(self):
        swap = self.work / "swap"
        subprocess.run(["dd", "if=/dev/zero", f"of={swap}", "bs=1M", "count=150"], check=True, **QUIET)
        swap.chmod(0o600)
        subprocess.run(["mkswap", swap], check=True, **QUIET)
        subprocess.run(["swapon", swap], check=True, **QUIET)
        try:
            with self.group("memory", limit_in_bytes=24 << 20) as before, self.case("WalkTable", "memory swap", "walk", before=before) as case:
                time.sleep(1)
                yield case
        finally:
            subprocess.run(["swapoff", swap], check=False, **QUIET)

    @contextlib.contextmanager
    def name_server(self):
        """It never answers."""
        settings = self.work / "resolv.conf"
        settings.write_text("nameserver 127.0.0.9\noptions timeout:20\n")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.9", 53))
            mounted = ["unshare", "--mount", "sh", "-c", f'mount --bind {settings} /etc/resolv.conf && exec "$@"', "sh"]
            with self.case("FindServer", "127.0.0.9 name", "lookup", before=mounted) as case:
                yield case

    @contextlib.contextmanager
    def display(self):
        """Its X server is stopped."""
        number = 90 + int(time.time()) % 9
        with running([["Xvfb", f":{number}", "-screen", "0", "320x200x8"]], **QUIET) as (server,):
            wait_for(pathlib.Path(f"/tmp/.X11-unix/X{number}").exists)
            with running([[PYTHON, FOLDER / "display.py", f":{number}"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as (client,):
                client.stdout.readline()
                server.send_signal(signal.SIGSTOP)
                client.stdin.write(b"\n")
                client.stdin.flush()
                time.sleep(0.5)
                yield Case(client.pid, "draw_window", "Xvfb")
                server.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def python(self, recipe, function, culprit):
        with running([[PYTHON, FOLDER / recipe]], **QUIET) as (process,):
            time.sleep(0.7)
            yield Case(process.pid, function, culprit)

    def computing(self):
        return self.case("ComputeChecksum", "", "compute")

    def gil(self):
        return self.python("gil.py", "redraw", "archive")

    def every(self):
        """{name: context}"""
        return {name: getattr(self, name) for name in
                ["stopped", "dead", "vfork", "disk", "throttled", "swapping", "name_server", "display", "computing", "gil"]}
