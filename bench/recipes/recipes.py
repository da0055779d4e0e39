#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Freezes programs of many languages in known lines, under `lagwatch run`, and reads which lines the reports blame.

A recipe is a program of this folder. It reads lines from standard input and freezes at the line "freeze", in the line
that ends with the comment `FREEZE NAME`: NAME is the function. A comment `KEEPS NAME` marks the line of another thread
that keeps what the frozen one waits for, and is to be named instead; `ALSO NAME` one that is to be named, too,
and `BETWEEN NAME` a native function that has called the frozen one.
`VERDICT WORD` is the word that a report that names them has, `OPTIONS` are its run time's. A file in C of the same name is
the library RECIPE_LIBRARY. `scripts/bench recipes` installs PACKAGES; a language
that is missing is left out. The last line is one JSON object: `recipes`, `named` (a report names function and line),
`named_pct`; of the loops in early that freeze in their first dispatches `early`, `early_named`; of the processes in across `across`, `across_named`; and of the servers in real.py `programs`,
`programs_named`.
"""
import argparse
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time

import real
from across import across
from early import early
from expectation import expectation, marks, matches

PACKAGES = ["gir1.2-gtk-3.0", "libnetty-java", "lua-socket", "lua5.1", "lua5.3", "lua5.4", "luajit", "nodejs", "npm", "openjdk-17-jdk-headless",
            "openjdk-17-jre", "perl", "php-cli", "python3-aiohttp", "python3-gi", "redis-server", "redis-tools", "ruby", "xvfb"]
FOLDER = pathlib.Path(__file__).resolve().parent
THRESHOLD_MS = 300
LONGEST_S = 12
OWN = ["expectation.py", "real.py", "recipes.py"]  # no recipes
RUNTIMES = {".py": [["/usr/bin/python3"]], ".js": [["node"]], ".lua": [["lua5.1"], ["lua5.3"], ["lua5.4"], ["luajit"], ["luajit", "-joff"]], ".rb": [["ruby"]],
            ".pl": [["perl"]], ".php": [["php"]],
            ".java": [["java"]]}


class SilentNameServer:
    """A name server that never answers, on a loopback address of its own."""

    ADDRESS = "127.0.0.53"

    def __enter__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.ADDRESS, 53))
        return self

    def __exit__(self, *_):
        self.socket.close()


def is_unread(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder) != 0


def drive(program, directory):
    """Lets the loop turn a few times, freezes it, and ends it."""
    def feed():
        try:
            for text in ["turn"] * 15 + ["freeze"]:
                program.stdin.write(text + "\n")
                program.stdin.flush()
                while is_unread(program.stdin) and program.poll() is None:
                    time.sleep(0.01)
                time.sleep(0.03)
            # A read of the file ends.
            time.sleep(1.2)
            fifo = directory / "fifo"
            if fifo.exists():
                with open(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK), "w") as file:
                    file.write("late\n")
        except OSError:
            pass
        time.sleep(0.2)
        try:
            program.stdin.close()
        except OSError:
            pass
    thread = threading.Thread(target=feed)
    thread.start()
    try:
        program.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        program.kill()  # of a deadlock; its report is on disk
    thread.join()


def blamed(report, is_others):
    """The script's frames that a report blames: of its stack the ones that make the cause, of a lock's owner all."""
    if is_others:
        waits = report.get("waits") or []
        return [frame for wait in waits if wait.get("owner") for frame in wait["owner"]["stack"]]
    causes = report.get("cause") or []
    return [frame for frame in report["expensive_stack"] if frame.get("function") in causes]


def is_named_in(report, recipe):
    name, line, is_others = expectation(recipe)
    found = marks(recipe)
    if "VERDICT" in found and report["verdict"]["word"] != found["VERDICT"][0]:
        return False
    if "ALSO" in found and not any(matches(frame, *found["ALSO"]) for frame in blamed(report, True)):
        return False
    if "BETWEEN" in found:
        functions = [(frame.get("function") or "").split(" (")[0].split(".")[-1] for frame in report["expensive_stack"]]
        if name not in functions or found["BETWEEN"][0] not in functions[functions.index(name):]:
            return False
    return any(matches(frame, name, line) for frame in blamed(report, is_others))


def build_library(recipe, directory):
    """The shared library of a recipe's file in C; its path."""
    library = directory / "recipe.so"
    java = pathlib.Path(shutil.which("javac")).resolve().parent.parent / "include"
    subprocess.run(["cc", "-shared", "-fPIC", "-g", "-o", str(library), str(recipe.with_suffix(".c")), f"-I{java}",
                    f"-I{java}/linux"], check=True)
    return str(library)


def run(recipe, runtime, lagwatch, is_verbose):
    name, line, _ = expectation(recipe)
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        spool = directory / "spool"
        os.mkfifo(directory / "fifo")
        command = [lagwatch, "run", "--threshold-ms", str(THRESHOLD_MS), "--spool", str(spool), "--"]
        if "getaddrinfo" in recipe.name:
            (directory / "resolv.conf").write_text(f"nameserver {SilentNameServer.ADDRESS}\noptions timeout:1 attempts:1\n")
            command = ["unshare", "-m", "sh", "-c", f'mount --bind {directory}/resolv.conf /etc/resolv.conf && exec "$@"',
                       "sh"] + command
        environment = os.environ | {"FIFO": str(directory / "fifo")}
        if recipe.with_suffix(".c").exists():
            environment["RECIPE_LIBRARY"] = build_library(recipe, directory)
        options = marks(recipe).get("OPTIONS", ("", 0))[0].split()
        log = open(directory / "log", "w+")
        program = subprocess.Popen(command + runtime + options + [str(recipe)], stdin=subprocess.PIPE, stdout=log, stderr=log, text=True,
                                   env=environment)
        drive(program, directory)
        ask = lambda *what: json.loads(
            subprocess.run([lagwatch, *what, "--spool", str(spool), "--json"], capture_output=True, text=True).stdout or "[]")
        reports = [header | ask("report", header["id"]) for header in ask("reports")]
        is_named = any(is_named_in(report, recipe) for report in reports)
        where = f"{name}:{line}"
        print(f"{'named ' if is_named else 'MISSED'} {' '.join(runtime):18} {recipe.name:24} {where}", file=sys.stderr)
        if not is_named and is_verbose:
            log.seek(0)
            print(log.read()[-2000:], file=sys.stderr)
            for report in reports:
                print(report.get("cause"), report["verdict"], file=sys.stderr)
                for frame in report["expensive_stack"][:12]:
                    print("   ", frame.get("function") or frame.get("module"), frame.get("line"), file=sys.stderr)
                for frame in blamed(report, True)[:12]:
                    print("      owner", frame.get("function") or frame.get("module"), frame.get("line"), file=sys.stderr)
        return is_named


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the directory of the programs")
    parser.add_argument("--only", help="a part of the recipes' names")
    parser.add_argument("--pictures", help="a directory for pictures of the pages about the real programs' reports")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the reports of recipes that were missed")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its programs end with it
    lagwatch = pathlib.Path(arguments.bin).resolve() / "lagwatch"
    outcomes = []
    with SilentNameServer():
        for recipe in sorted(FOLDER.iterdir()):
            if recipe.suffix not in RUNTIMES or recipe.name in OWN or (arguments.only or "") not in recipe.name:
                continue
            for runtime in RUNTIMES[recipe.suffix]:
                if shutil.which(runtime[0]) is None:
                    print(f"left out {recipe.name}: there is no {runtime[0]}", file=sys.stderr)
                else:
                    outcomes.append(run(recipe, runtime, lagwatch, arguments.verbose))
    named = sum(outcomes)
    loops = early.run_all(lagwatch.parent, arguments.only or "")
    processes = across.run_all(lagwatch.parent, arguments.only or "", arguments.pictures)
    programs = real.run_all(lagwatch.parent, arguments.only or "", arguments.pictures)
    print(json.dumps({"recipes": len(outcomes), "named": named,
                      "named_pct": round(100 * named / max(len(outcomes), 1), 1),
                      "early": len(loops), "early_named": sum(loops),
                      "across": len(processes), "across_named": sum(processes),
                      "programs": len(programs), "programs_named": sum(programs)}))


if __name__ == "__main__":
    main()
