# SPDX-License-Identifier: Apache-2.0
"""The programs of attach.py: each ticks, or answers a question."""
import contextlib
import pathlib
import shutil
import socket
import subprocess
import time

from harness.processes import all_stats, compiled, kill_group, stat_of, wait_for
from harness.servers import nginx

PACKAGES = ["chromium", "lua5.4", "musl-tools", "nginx-light", "nodejs", "openjdk-17-jdk-headless", "perl", "php-cli",
            "postgresql", "prometheus-node-exporter", "redis-server", "ruby", "xvfb"]
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


class AttachedProgram:
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

    def __enter__(self) -> "AttachedProgram":
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
