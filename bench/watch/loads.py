# SPDX-License-Identifier: Apache-2.0
"""Programs that are busy, late or interrupted, and never freeze, for the false reports of watch.py."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

from harness.processes import QUIET, running
from harness.servers import nginx

SERVER = """
import asyncio, sys, time
async def answer(reader, writer):
    while await reader.readline():
        end = time.time() + 0.004
        while time.time() < end: pass
        writer.write(b"done\\n")
async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        writer.write(b"work\\n")
        await reader.readline()
async def run():
    if sys.argv[1] == "server":
        server = await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[2]))
        await server.serve_forever()
    await asyncio.gather(*[ask(int(sys.argv[2])) for _ in range(4)])
asyncio.run(run())
"""
PAGE = ("data:text/html,<canvas id=c></canvas><script>const c = document.getElementById('c').getContext('2d'); let n = 0;"
        "function f() { c.fillRect(n++ % 300, n % 150, 3, 3); requestAnimationFrame(f) } f()</script>")

GO_SERVER = """
package main
import ("fmt"; "net/http"; "os"; "runtime"; "sync"; "time")
var lock sync.Mutex
func main() {
  go func() { for range time.Tick(100 * time.Millisecond) { runtime.GC() } }()
  http.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { time.Sleep(2 * time.Second); fmt.Fprint(w, "late") })
  http.HandleFunc("/lock", func(w http.ResponseWriter, r *http.Request) {
    lock.Lock()
    time.Sleep(time.Second)
    lock.Unlock()
  })
  http.HandleFunc("/busy", func(w http.ResponseWriter, r *http.Request) {
    for end := time.Now().Add(time.Second); time.Now().Before(end); {}
    fmt.Fprint(w, "busy")
  })
  http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "well") })
  http.ListenAndServe("127.0.0.1:" + os.Args[1], nil)
}
"""
GO_CLIENT = """
while true; do
  sleep 1
  for path in / /slow /busy /lock /lock /; do curl -s http://127.0.0.1:8197$path & done
  wait
done >/dev/null
"""


def build_go_server(work):
    if shutil.which("go"):
        (work / "server.go").write_text(GO_SERVER)
        subprocess.run(["go", "build", "-o", work / "go_server", work / "server.go"], check=True, env=os.environ | {"GOCACHE": f"{work}/go"})


def loads(work):
    """Commands of programs that are busy and never freeze, and are watched, and of those beside them."""
    build_go_server(work)
    (work / "chromium").mkdir(exist_ok=True)
    python = "/usr/bin/python3"
    watched = [[work / "loop", "busy"],
               [python, "-c", SERVER, "server", "8198"],
               ["redis-server", "--port", "6399", "--save", "", "--dir", work],
               nginx(work, "127.0.0.1:8199", "well"),
               ["Xvfb", ":96", "-nolisten", "tcp"],
               ["sh", "-c", "sleep 1; exec xeyes -display :96"],
               ["sh", "-c", "sleep 1; exec xclock -update 1 -display :96"],
               ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={work}/chromium", PAGE],
               ["node", "-e", "setInterval(() => { const e = Date.now() + 20; while (Date.now() < e); }, 25)"],
               ["sh", "-c", f"sleep 2; exec {python} -c '{SERVER}' client 8198"],
               [work / "go_server", "8197"]]
    beside = [["sh", "-c", "sleep 1; while true; do redis-benchmark -p 6399 -n 200000 -c 20 -q >/dev/null; done"],
              ["sh", "-c", GO_CLIENT],
              ["sh", "-c", "sleep 1; while true; do curl -s http://127.0.0.1:8199/ >/dev/null; done"]]
    return [command for command in watched if shutil.which(str(command[0]))], beside


# Each has two descriptors to wait for.
ENDS = "import asyncio, os, select, time\nends = [os.pipe()[0] for _ in range(2)]\n"
POLL = ENDS + "loop = select.poll()\nfor end in ends: loop.register(end, select.POLLIN)\n"
INTERRUPTED = {
    "a long poll": POLL + "while True: loop.poll(7000)",
    "short polls": POLL + "while True: loop.poll(50)",
    "short polls, then one without end": POLL + "for _ in range(40): loop.poll(100)\nloop.poll(-1)",
    "an epoll": ENDS + "loop = select.epoll()\nfor end in ends: loop.register(end, select.EPOLLIN)\nwhile True: loop.poll(7)",
    "a select": ENDS + "while True: select.select(ends, [], [], 3)",
    "sleeps in dispatches": POLL + "while True:\n    loop.poll(50)\n    time.sleep(0.1)",
    "computes in dispatches": POLL + "while True:\n    loop.poll(50)\n    end = time.process_time() + 0.003\n    while time.process_time() < end: pass",
    "asyncio": ENDS + "async def run():\n    while True: await asyncio.sleep(0.3)\nasyncio.run(run())",
}


def interrupted(work):
    """Commands of programs that are stopped and continued, and debugged, all the time."""
    scripts = [["/usr/bin/python3", "-c", script] for script in INTERRUPTED.values()]
    others = [[work / "loop", "busy"], [work / "go_server", "8196"]]
    return scripts + [command for command in others if pathlib.Path(command[0]).exists()]


class BusyMachine:
    """Processes that never sleep, for every other minute."""

    def __init__(self, processes):
        self.processes, self.begin, self.is_on, self.most = processes, time.monotonic(), True, 0

    def turn(self):
        self.most = max(self.most, os.getloadavg()[0])
        is_on = int((time.monotonic() - self.begin) / 60) % 2 == 0
        if is_on != self.is_on:
            for process in self.processes:
                process.send_signal(signal.SIGCONT if is_on else signal.SIGSTOP)
        self.is_on = is_on


@contextlib.contextmanager
def busy_machine():
    with running([["sh", "-c", "while :; do :; done"]] * 40) as processes:
        yield BusyMachine(processes)


def interrupt(processes, machine, until):
    """Stops and continues them, briefly and for long, and lets a debugger look at one after the other."""
    turn = 0
    while time.monotonic() < until:
        machine.turn()
        turn += 1
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        time.sleep(2 if turn % 5 == 0 else 0.05)
        for process in processes:
            process.send_signal(signal.SIGCONT)
        if shutil.which("gdb"):
            subprocess.run(["gdb", "-p", str(processes[turn % len(processes)].pid), "-batch", "-nx", "-ex", "thread apply all backtrace"],
                           timeout=120, check=False, **QUIET)
        time.sleep(3)
