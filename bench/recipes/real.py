# SPDX-License-Identifier: Apache-2.0
"""Freezes real servers under load, and asks a collector for the cause."""
import atexit
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from expectation import expectation, matches

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = FOLDER / "programs"
ROOT = FOLDER.parent.parent
THRESHOLD_MS = 400


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(seconds, condition):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if answer := condition():
                return answer
        except (OSError, subprocess.SubprocessError):
            pass
        time.sleep(0.1)
    return None


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return answer.read()


class Load:
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


class Redis:
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
    output, its_end = os.pipe()
    screen = subprocess.Popen(["Xvfb", "-displayfd", str(its_end), "-nolisten", "tcp", "-screen", "0", "800x600x24"],
                              pass_fds=[its_end], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(screen.kill)
    os.close(its_end)
    with os.fdopen(output) as lines:
        return {"DISPLAY": ":" + lines.readline().strip()}


NETTY = ":".join(f"/usr/share/java/netty-{part}.jar"
                 for part in ["buffer", "codec", "codec-http", "common", "handler", "resolver", "transport"])
ALL = {
    "aiohttp": WebServer("orders_aiohttp.py", ["/usr/bin/python3"]),
    "express": WebServer("orders_express.js", ["node"], express),
    "netty": WebServer("OrdersNetty.java", ["java", "-cp", NETTY]),
    "redis": Redis(),
    "swing": WebServer("OrdersSwing.java", ["java"], virtual_screen),
}


class Collector:
    def __init__(self, directory, binaries):
        output = open(directory / "collector.out", "w+")
        self.program = subprocess.Popen([binaries / "lagwatch-collector", "--listen", "127.0.0.1:0", "--data", directory / "data"],
                                        stdout=output, stderr=subprocess.DEVNULL)
        line = until(20, lambda: next((line for line in open(directory / "collector.out") if "listening on" in line), None))
        self.url = line.split("listening on ")[1].strip()
        self.key = (directory / "data/key").read_text().strip()
        self.token = (directory / "data/admin-token").read_text().strip()

    def stop(self):
        self.program.terminate()
        self.program.wait()


def run(name, program, binaries, pictures):
    function, line, _ = expectation(program.source)
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        collector = Collector(directory, binaries)
        environment = os.environ | program.environment() | {
            "LAGWATCH_ENDPOINT": collector.url, "LAGWATCH_KEY": collector.key, "LAGWATCH_TOKEN": collector.token}
        lagwatch = binaries / "lagwatch"
        server = subprocess.Popen([lagwatch, "run", "--app", name, "--threshold-ms", str(THRESHOLD_MS), "--spool",
                                   directory / "spool", "--", *program.command(directory)],
                                  env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ask = lambda *what: json.loads(
            subprocess.run([lagwatch, *what, "--json"], capture_output=True, env=environment).stdout or "[]")
        load = None
        try:
            if until(30, program.ask) is None:
                raise OSError(f"{name} does not answer")
            load = Load(program.ask)
            time.sleep(2)
            program.freeze()
            time.sleep(1)
            load.stop()
            server.terminate()
            server.wait(20)

            def named():
                for header in ask("reports"):
                    report = ask("report", header["id"])
                    causes = header.get("cause") or report.get("cause") or []
                    if any(matches(frame, function, line) and frame["function"] in causes
                           for frame in report["expensive_stack"]):
                        return header
                return None
            header = until(20, named)
            print(f"{'named ' if header else 'MISSED'} {name:18} {function}:{line}", file=sys.stderr)
            if header is None:
                for each in ask("reports"):
                    print("   ", each.get("cause"), file=sys.stderr)
            elif pictures is not None:
                subprocess.run(["node", FOLDER / "picture.mjs", collector.url, collector.token, header["id"],
                                pictures, f"report-{name}"], check=True)
            return header is not None
        finally:
            if load is not None and not load.is_over:
                load.stop()
            server.kill()
            collector.stop()


def run_all(binaries, only, pictures):
    """Returns whether each program's function and line were named. `only`: a part of the programs' names."""
    return [run(name, program, binaries, pictures) for name, program in ALL.items() if only in name]
