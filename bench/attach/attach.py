#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to real programs while they run, and detaches. Programs that are not installed are left out.

Each program ticks (prints, or answers a question) before, while and after it is attached: `programs`, `attached`,
`refused_with_reason`, `watched_outside` (of these), `harmed` (did not go on as before). One thread was stopped for
`stop_ms_p50` and `stop_ms_p99`, and waited for a processor meanwhile for `queued_ms_p99`. Then:

  soak      many cycles against a program under load: soak_cycles, soak_failed, soak_alive, and since the tenth part
            soak_descriptors_grown and soak_mappings_grown
  changes   programs that exec, fork, pause and wait with a timeout, attached at a random moment: changing, changing_harmed;
            commands that are killed: killed, left_threads, killed_harmed
  beats     a program's own heartbeats, idle and (loaded_…) beside four compilers: beat_gap_ms_p50 and beat_gap_ms_p99, the
            longest time by which one was late while the program was attached; beat_stop_ms_p99 without the time in which it
            waited for a processor; bystander_… of the same program beside it that was left alone; bare_… when nothing happened
"""
import contextlib
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import suite
from harness.lagwatch import Lagwatch
from harness.processes import all_stats, compiled, kill_group, stat_of, wait_for
from harness.servers import nginx
from hosts import HERE, measure_beats, measure_changes

PACKAGES = ["chromium", "lua5.4", "musl-tools", "nginx-light", "nodejs", "openjdk-17-jdk-headless", "perl", "php-cli",
            "postgresql", "prometheus-node-exporter", "redis-server", "ruby", "xvfb"]
TARGETS = ["lagwatch-cli", "lagwatch_preload", "lagwatch_jvm"]
PYTHON_LOOP = """
import select, sys
p = select.poll()
while True:
    p.poll(50); print("tick", flush=True)
"""
PYTHON_ASYNCIO = """
import asyncio
async def run():
    while True:
        await asyncio.sleep(0.05); print("tick", flush=True)
asyncio.run(run())
"""
PYTHON_SPIN = """
import time
last = time.time()
while True:
    if time.time() - last > 0.05: last = time.time(); print("tick", flush=True)
"""
PYTHON_FUTEX = """
import select, threading
def run():
    p = select.poll()
    while True:
        p.poll(50); print("tick", flush=True)
threading.Thread(target=run).start()
threading.Event().wait()
"""
PYTHON_SELECTORS = """
import selectors, os
s = selectors.DefaultSelector()
r, w = os.pipe()
s.register(r, selectors.EVENT_READ)
while True:
    s.select(0.05); print("tick", flush=True)
"""
PYTHON_SECCOMP = """
import ctypes, select, struct
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
code = (ctypes.c_ubyte * 8)(*struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000))
class Program(ctypes.Structure):
    _fields_ = [("size", ctypes.c_ushort), ("code", ctypes.c_void_p)]
assert libc.prctl(22, 2, ctypes.byref(Program(1, ctypes.addressof(code))), 0, 0) == 0
p = select.poll()
while True:
    p.poll(50); print("tick", flush=True)
"""
JAVA_LOOP = """
public class Loop {
  public static void main(String[] a) throws Exception {
    var s = java.nio.channels.Selector.open();
    while (true) { s.select(50); System.out.println("tick"); System.out.flush(); }
  }
}
"""

# A server, and a client that asks one of its processes again and again.
POSTGRES = """
chmod 755 . && mkdir db && chown postgres db && cd db && exec setpriv --reuid=postgres --regid=postgres --clear-groups sh -c '
  PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -1):$PATH
  initdb -D data >/dev/null && { postgres -D data -k "$PWD" -h "" & }
  until psql -h "$PWD" -c "" postgres 2>/dev/null; do sleep 0.1; done
  echo "select 1 \\watch 0.05" | psql -h "$PWD" postgres'
"""
TICKING_PAGE = "data:text/html,<script>setInterval(() => console.log('tick'), 50)</script>"
# Programs of which another process is attached: a part of its command line.
PARTS = {"nginx_worker": "worker process", "postgres_backend": "[local]", "chromium_renderer": "--type=renderer"}
NODE_EXPORTER = "127.0.0.1:9197"


def build_programs(work: pathlib.Path) -> None:
    (work / "Loop.java").write_text(JAVA_LOOP)
    source = "#include <poll.h>\n#include <stdio.h>\nint main(void) { while (1) { poll(0, 0, 50); puts(\"tick\"); fflush(stdout); } }\n"
    (work / "loop.c").write_text(source)
    (work / "spin.c").write_text(source.replace("poll(0, 0, 50);", "for (volatile long i = 0; i < 20000000; ++i) {}"))
    (work / "threads.c").write_text(
        "#include <poll.h>\n#include <pthread.h>\n#include <stdio.h>\nvoid* Run(void* c) { while (1) { poll(0, 0, 50); "
        "puts(\"tick\"); fflush(stdout); } return c; }\nint main(void) { pthread_t t; pthread_create(&t, 0, Run, 0); "
        "pthread_join(t, 0); }\n")
    for name in ("loop", "spin", "threads"):
        compiled(work / f"{name}.c", work / f"c_{name}")
    compiled(work / "loop.c", work / "c_static", "-static")
    if shutil.which("musl-gcc"):
        compiled(work / "loop.c", work / "c_musl", compiler="musl-gcc")


def programs(work: pathlib.Path, binaries: pathlib.Path) -> dict:
    """The command of each program, by its name."""
    build_programs(work)
    (work / "chromium").mkdir(mode=0o777)
    (work / "chromium").chmod(0o777)
    work.chmod(0o755)
    python = "/usr/bin/python3"
    commands = {
        "c_loop": [work / "c_loop"],
        "c_spin": [work / "c_spin"],
        "c_futex": [work / "c_threads"],
        "c_static": [work / "c_static"],
        "python_poll": [python, "-c", PYTHON_LOOP],
        "python_asyncio": [python, "-c", PYTHON_ASYNCIO],
        "python_spin": [python, "-c", PYTHON_SPIN],
        "python_futex": [python, "-c", PYTHON_FUTEX],
        "python_selectors": [python, "-c", PYTHON_SELECTORS],
        "python_seccomp": [python, "-c", PYTHON_SECCOMP],
        "python_namespaces": ["unshare", "--mount", "--pid", "--fork", "--kill-child", python, "-c", PYTHON_LOOP],
        "other_root": ["unshare", "--mount", "sh", "-c",
                       f"mount -t tmpfs none {binaries.parent} && exec {python} -c '{PYTHON_LOOP}'"],
        "node": ["node", "-e", "setInterval(() => console.log('tick'), 50)"],
        "node_spin": ["node", "-e", "let l = Date.now(); for (;;) if (Date.now() - l > 50) { l = Date.now(); "
                                    "require('fs').writeSync(1, 'tick\\n') }"],
        "java": ["java", "-XX:+EnableDynamicAgentLoading", work / "Loop.java"],
        "perl": ["perl", "-e", "$| = 1; while (1) { select(undef, undef, undef, 0.05); print \"tick\\n\" }"],
        "ruby": ["ruby", "-e", "$stdout.sync = true; r, w = IO.pipe; loop { IO.select([r], nil, nil, 0.05); puts 'tick' }"],
        "php": ["php", "-r", "$p = stream_socket_pair(1, 1, 0); while (1) { $r = [$p[0]]; $w = $e = null; "
                             "stream_select($r, $w, $e, 0, 50000); echo \"tick\\n\"; }"],
        "lua_spin": ["lua5.4", "-e", "local l = os.clock(); while true do if os.clock() - l > 0.05 then l = os.clock() "
                                     "print('tick') io.flush() end end"],
        "bash": ["bash", "-c", "exec 3<> <(:); while true; do read -t 0.05 -u 3; echo tick; done"],
        "redis": ["redis-server", "--port", "0", "--unixsocket", work / "redis", "--save", "", "--dir", work],
        "nginx_worker": nginx(work, f"unix:{work}/nginx", "tick"),
        "postgres_backend": ["setpriv", "sh", "-c", POSTGRES],
        "go_exporter": ["prometheus-node-exporter", f"--web.listen-address={NODE_EXPORTER}"],
        "chromium_renderer": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={work}/chromium",
                              "chromium", "--headless", "--disable-gpu", "--enable-logging=stderr", TICKING_PAGE],
        "c_musl": [work / "c_musl"],
        "Xvfb": ["Xvfb", ":97", "-nolisten", "tcp"],
    }
    return {name: [str(word) for word in command] for name, command in commands.items()
            if shutil.which(str(command[0]))}


class Program:
    def __init__(self, name: str, command: list, work: pathlib.Path):
        self.name, self.work = name, work
        self.output = work / f"{name}.out"
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            cwd=work, start_new_session=True)
        self.pid = self.process.pid
        if name == "python_namespaces":
            self.pid = wait_for(lambda: next((pid for pid, stat in all_stats().items() if stat.parent == self.process.pid), 0))
        if name in PARTS:
            def stays() -> bool:  # others come and go at the start
                self.pid = self.part()
                time.sleep(1 if self.pid else 0)
                return self.pid != 0 and self.part() == self.pid
            wait_for(stays, 60)

    def part(self) -> int:
        """The process whose command line has the program's part, of its session; 0 if there is none yet."""
        for pid in all_stats():
            with contextlib.suppress(OSError):  # it has ended
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                if PARTS[self.name] in command and self.has_started(pid):
                    return pid
        return 0

    def has_started(self, pid: int) -> bool:
        while pid != self.process.pid and (stat := stat_of(pid)):
            pid = stat.parent
        return pid == self.process.pid

    def ticks(self) -> bool:
        """Whether it makes progress."""
        if self.process.poll() is not None:
            return False
        if self.name == "redis":
            return wait_for(lambda: asks(self.work / "redis", b"PING\r\n").startswith(b"+PONG"))
        if self.name == "nginx_worker":
            return wait_for(lambda: b"200 OK" in asks(self.work / "nginx", b"GET / HTTP/1.0\r\n\r\n"))
        if self.name == "go_exporter":
            return wait_for(lambda: b"200 OK" in asks(NODE_EXPORTER, b"GET / HTTP/1.0\r\n\r\n"))
        if self.name == "Xvfb":
            return wait_for(lambda: asks("/tmp/.X11-unix/X97", b"l\0\x0b\0\0\0\0\0\0\0\0\0").startswith(b"\1"))
        before = self.output.stat().st_size
        return bool(wait_for(lambda: self.output.stat().st_size > before))

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        if self.name in PARTS and self.process.poll() is None:
            self.process.terminate()  # it ends its parts
            time.sleep(1)
        kill_group(self.process)


def asks(path: object, question: bytes) -> bytes:
    is_tcp = str(path) == NODE_EXPORTER
    with socket.socket(socket.AF_INET if is_tcp else socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            host, _, port = str(path).partition(":")
            client.connect((host, int(port)) if is_tcp else str(path))
            client.sendall(question)
            return client.recv(100)
        except OSError:
            return b""


class Attacher(Lagwatch):
    """The commands, and the times for which they stopped a thread."""

    def __init__(self, binaries: pathlib.Path, work: pathlib.Path):
        super().__init__(binaries, work / "spool")
        self.stops_ms, self.queued_ms = [], []

    def run(self, *words: object) -> subprocess.CompletedProcess:
        done = self.call(*words)
        stop = re.search(r"stopped for (\d+) µs, and waited (\d+) µs", done.stdout)
        if stop:
            self.stops_ms.append(int(stop[1]) / 1000)
            self.queued_ms.append(int(stop[2]) / 1000)
        return done

    def start(self, command: str, pid: int) -> subprocess.Popen:
        flags = self.spool if command == "attach" else []
        return subprocess.Popen([self.program, command, str(pid), *flags], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def attach(self, pid: int) -> subprocess.CompletedProcess:
        return self.run("attach", pid, "--threshold-ms", "2000", *self.spool)

    def detach(self, pid: int) -> subprocess.CompletedProcess:
        return self.run("detach", pid)

    def watches(self, pid: int) -> bool:
        watcher = subprocess.Popen([self.program, "watch", str(pid), *self.spool], stderr=subprocess.PIPE)
        time.sleep(1)
        watcher.send_signal(signal.SIGINT)
        return watcher.wait(20) == 0


def state_of(pid: int) -> dict:
    process = pathlib.Path(f"/proc/{pid}")
    return {"descriptors": len(list((process / "fd").iterdir())),
            "mappings": len((process / "maps").read_text().splitlines())}


def measure_programs(lagwatch: Attacher, work: pathlib.Path, binaries: pathlib.Path, cycles: int) -> dict:
    counts = {"programs": 0, "attached": 0, "watched_outside": 0, "refused_with_reason": 0, "harmed": 0}
    for name, command in programs(work, binaries).items():
        with Program(name, command, work) as program:
            if not program.ticks():
                suite.progress(f"{name}: does not run here")
                continue
            counts["programs"] += 1
            is_harmed, note = False, "attached"
            for cycle in range(cycles):
                attached = lagwatch.attach(program.pid)
                if attached.returncode != 0:
                    note = attached.stderr.strip()
                    counts["refused_with_reason"] += "watch" in note
                    counts["watched_outside"] += lagwatch.watches(program.pid)
                    break
                is_harmed = is_harmed or not program.ticks()
                detached = lagwatch.detach(program.pid)
                is_harmed = is_harmed or detached.returncode != 0 or not program.ticks()
                if detached.returncode != 0:
                    note = "detach: " + detached.stderr.strip()
            else:
                counts["attached"] += 1
            is_harmed = is_harmed or not program.ticks()
            counts["harmed"] += is_harmed
            suite.progress(f"{name}: {note}{' HARMED' if is_harmed else ''}")
    return counts


def soak(lagwatch: Attacher, work: pathlib.Path, cycles: int) -> dict:
    with Program("soak", [compiled(HERE / "soak_program.c", work / "soak", "-ldl")], work) as program:
        program.ticks()
        failed, middle = 0, None
        for cycle in range(cycles):
            if lagwatch.attach(program.pid).returncode != 0 or lagwatch.detach(program.pid).returncode != 0:
                failed += 1
            if program.process.poll() is not None:
                break
            if cycle == cycles // 10:
                time.sleep(0.2)
                middle = state_of(program.pid)
        is_alive = program.ticks()
        grown = {key: state_of(program.pid)[key] - middle[key] for key in middle} if is_alive and middle else {}
        is_clean = "child failed" not in program.output.read_text()
    return {"soak_cycles": cycle + 1, "soak_failed": failed, "soak_alive": is_alive and is_clean,
            "soak_descriptors_grown": grown.get("descriptors"), "soak_mappings_grown": grown.get("mappings")}


def main() -> int:
    options = suite.parser(__doc__)
    options.add_argument("--cycles", type=int, default=5, help="attachments of each program")
    options.add_argument("--soak", type=int, default=500, help="attachments of the soak")
    options.add_argument("--changes", type=int, default=100, help="attachments of each program that changes, and kills")
    options.add_argument("--beats", type=int, default=100, help="attachments of a program that measures its heartbeat, "
                                                                "idle and under load each")
    arguments = suite.parse(options)
    with suite.work_directory() as work:
        lagwatch = Attacher(arguments.bin, work)
        figures = measure_programs(lagwatch, work, arguments.bin, arguments.cycles)
        figures |= soak(lagwatch, work, arguments.soak)
        figures |= {"stops": len(lagwatch.stops_ms), "stop_ms_p50": suite.percentile(lagwatch.stops_ms, 50),
                    "stop_ms_p99": suite.percentile(lagwatch.stops_ms, 99),
                    "queued_ms_p99": suite.percentile(lagwatch.queued_ms, 99)}
        figures |= measure_changes(lagwatch, work, arguments.changes)
        figures |= measure_beats(lagwatch, work, arguments.beats)
    return suite.result(figures)


if __name__ == "__main__":
    sys.exit(main())
