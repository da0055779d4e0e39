# SPDX-License-Identifier: Apache-2.0
"""A Debian system with a running systemd of its own, in namespaces of this machine."""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def can_run() -> bool:
    """Whether this user may make namespaces with mounts."""
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "-fpmuiCn", "--mount-proc", "mount", "-t", "tmpfs", "test", "/mnt"], capture_output=True).returncode == 0


def wait_until(condition, timeout_s=60):
    """Returns the value of `condition` once it is true; an AssertionError if it does not become so."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)


class Machine:
    """A system that runs until stop(); `root` stays as it is. It has no network but its loopback."""

    def __init__(self, root: pathlib.Path):
        self._changes = tempfile.mkdtemp(prefix="lagwatch-machine-")
        self._log = open(self._changes + ".log", "w+", encoding="utf-8")
        self._unshare = subprocess.Popen(
            ["unshare", "-fpmuiCn", "--mount-proc", "--kill-child", "sh", HERE / "boot.sh", root, self._changes],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        children = pathlib.Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children")
        try:
            self._pid = int(wait_until(lambda: children.read_text().split())[0])
            wait_until(self._is_up)
        except BaseException:
            print(self.log())
            self.stop()
            raise

    def _is_up(self) -> bool:
        assert self._unshare.poll() is None, "the machine has ended"
        if "systemd" not in pathlib.Path(f"/proc/{self._pid}/cmdline").read_text():
            return False
        state = self._run(["systemctl", "is-system-running"]).stdout.strip()
        return state in ("running", "degraded")

    def _run(self, command, **options):
        return subprocess.run(["nsenter", "-t", str(self._pid), "-a", "-r", "-w", "env", "-i", "HOME=/root", "LC_ALL=C.UTF-8",
                               "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                               *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **options)

    def run(self, script: str) -> str:
        """Returns the output of a shell that runs the script; an AssertionError if it fails."""
        done = self._run(["sh", "-euc", script])
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def write(self, file: str, text: str) -> None:
        self.path(file).parent.mkdir(parents=True, exist_ok=True)
        self.path(file).write_text(text, encoding="utf-8")

    def path(self, file: str) -> pathlib.Path:
        """The file as this machine sees it."""
        return pathlib.Path(f"/proc/{self._pid}/root/{file}")

    def log(self) -> str:
        self._log.flush()
        self._log.seek(0)
        return self._log.read()[-20000:]

    def stop(self) -> None:
        with contextlib.suppress(AttributeError, ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._unshare.kill()
        self._unshare.wait()
        self._log.close()
        os.unlink(self._changes + ".log")
        os.rmdir(self._changes)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind:
            print(self._run(["journalctl", "--no-pager", "-n", "80"]).stdout, self.log())
        self.stop()
