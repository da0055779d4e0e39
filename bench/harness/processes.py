# SPDX-License-Identifier: Apache-2.0
"""Programs beside a suite: they are built, started, waited for, read from, looked at in /proc, and killed."""
import contextlib
import dataclasses
import fcntl
import os
import pathlib
import signal
import socket
import subprocess
import sys
import termios
import time

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
CPU_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def compiled(source, program, *flags, compiler="cc"):
    """Builds a program of one file; its path."""
    subprocess.run([compiler, "-O1", "-g", "-pthread", "-o", program, source, *flags], check=True)
    return program


@contextlib.contextmanager
def running(commands, **options):
    """The processes of the commands, each with its group, which is killed in the end."""
    processes = []
    try:
        for command in commands:
            processes.append(subprocess.Popen([str(word) for word in command], start_new_session=True, **options))
        yield processes
    finally:
        for process in processes:
            kill_group(process)


def kill_group(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(condition, timeout_s=20.0, pause_s=0.02):
    """The condition's first true answer, or None after the time; a program that does not answer yet may be an error."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            if answer := condition():
                return answer
        time.sleep(pause_s)
    return None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_unread(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder) != 0


def feed(process, texts, pause_s):
    """Writes each text to its standard input, when the one before has been read and the pause is over."""
    with contextlib.suppress(OSError):
        for text in texts:
            process.stdin.write(text)
            process.stdin.flush()
            while is_unread(process.stdin) and process.poll() is None:
                time.sleep(0.01)
            time.sleep(pause_s)


@dataclasses.dataclass
class Stat:
    state: str
    parent: int
    session: int
    cpu_ticks: int


def stat_of(pid):
    """None if there is no such process."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return Stat(fields[0], int(fields[1]), int(fields[3]), int(fields[11]) + int(fields[12]))
    except (OSError, IndexError):
        return None


def all_stats():
    """{pid: its Stat} of all processes."""
    stats = {int(name): stat_of(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: stat for pid, stat in stats.items() if stat}
