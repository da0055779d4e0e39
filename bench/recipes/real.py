# SPDX-License-Identifier: Apache-2.0
"""Freezes real servers under load, and asks a collector for the cause."""
import atexit
import contextlib
import pathlib
import subprocess
import threading
import time
import urllib.request

from expectation import expectation, matches, show
from harness.processes import QUIET, free_port, running, wait_for
from harness.servers import Collector, Display
from harness.suite import ROOT, progress, work_directory

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = FOLDER / "programs"
THRESHOLD_MS = 400


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=90) as answer:
        return answer.read()


class Clients:
    """Clients that ask for the cheap page all the time."""

    def __init__(self, ask):
        self.is_over = False
        self.threads = [threading.Thread(target=self.run, args=(ask,)) for _ in range(4)]
        for thread in self.threads:
            thread.start()

    def run(self, ask):
        while not self.is_over:
            try:
                ask()
            except OSError:
                time.sleep(0.05)

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


class WebServer:
    def __init__(self, source, runtime, environment=lambda: {}):
        self.source = PROGRAMS / source
        self.runtime = runtime
        self.environment = environment

    def command(self, _):
        self.port = free_port()
        return [*self.runtime, str(self.source), str(self.port)]

    def ask(self):
        return get(self.port, "/")

    def freeze(self):
        get(self.port, "/freeze")


class RedisServer:
    source = PROGRAMS / "ranking_redis.lua"
    environment = staticmethod(lambda: {})

    def command(self, directory):
        self.socket = str(directory / "redis.sock")
        return ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", str(directory),
                "--logfile", str(directory / "redis.log")]

    def client(self, *command):
        return subprocess.run(["redis-cli", "-s", self.socket, *command], check=True, capture_output=True, text=True).stdout

    def ask(self):
        return "PONG" in self.client("ping")

    def freeze(self):
        self.client("eval", self.source.read_text(), "0", "60000000")


def express():
    """The environment in which node finds Express, of npm."""
    folder = ROOT / "build" / "express"
    if not (folder / "node_modules" / "express").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "express@4"], cwd=folder, check=True)
    return {"NODE_PATH": str(folder / "node_modules")}


def virtual_screen():
    """The environment of a program with windows, which a screen of its own shows."""
    display = Display()
    atexit.register(display.stop)
    return display.environment


NETTY = ":".join(f"/usr/share/java/netty-{part}.jar"
                 for part in ["buffer", "codec", "codec-http", "common", "handler", "resolver", "transport"])
ALL = {
    "aiohttp": WebServer("orders_aiohttp.py", ["/usr/bin/python3"]),
    "express": WebServer("orders_express.js", ["node"], express),
    "netty": WebServer("OrdersNetty.java", ["java", "-cp", NETTY]),
    "redis": RedisServer(),
    "swing": WebServer("OrdersSwing.java", ["java"], virtual_screen),
}


def take_picture(collector, report, pictures, name):
    """Of the page about a report of the collector's, if there is a directory for pictures."""
    if report and pictures is not None:
        subprocess.run(["node", FOLDER / "picture.mjs", collector.url, collector.token, report["id"], pictures, f"report-{name}"], check=True)


def run(name, program, binaries, pictures):
    function, line, _ = expectation(program.source)
    with contextlib.ExitStack() as beside:
        directory = beside.enter_context(work_directory())
        collector = beside.enter_context(Collector(binaries, directory / "data"))
        lagwatch = collector.client(**program.environment())
        watched = lagwatch.watched(program.command(directory), "--app", name, "--spool", directory / "spool", threshold_ms=THRESHOLD_MS)
        server, = beside.enter_context(running([watched], env=lagwatch.environment, **QUIET))
        if wait_for(program.ask, 150, 0.1) is None:
            raise OSError(f"{name} does not answer")
        load = Clients(program.ask)
        beside.callback(load.stop)
        time.sleep(2)
        program.freeze()
        time.sleep(1)
        load.stop()
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(20)

        def named():
            for report in lagwatch.whole_reports():
                causes = report.get("cause") or []
                if any(matches(frame, function, line) and frame["function"] in causes for frame in report["expensive_stack"]):
                    return report
            return None
        report = wait_for(named, 20, 0.1)
        take_picture(collector, report, pictures, name)
        if not show(bool(report), f"{name:18} {function}:{line}"):
            for each in lagwatch.reports():
                progress("   ", each.get("cause"))
        return bool(report)


def run_all(binaries, only, pictures, load, outcomes):
    """Returns whether each program's function and line were named. `only`: a part of the programs' names."""
    found = {name: run(name, program, binaries, pictures) for name, program in ALL.items() if only in name}
    for name, is_named in found.items():
        outcomes.add(f"real {name}", load, None, None, function=is_named)
    return list(found.values())
