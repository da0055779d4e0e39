#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each row of the table of BTrace's features in docs/probes.md: its script must be hit; what is not there must be refused.

Rows for JVMs are run with one that has lagwatch's agent, the others with a native program.

Usage: btrace_table_test.py REPOSITORY LAGWATCH PROBED_PROGRAM
       btrace_table_test.py REPOSITORY LAGWATCH JAVA OPTION...
"""
import concurrent.futures
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

WORK = ["add", "scale", "request", "sleep", "outer", "alloc", "lock", "throw"]
WORK_OF_JAVA = ["shapes", "places"]
CALLS = 20
AT_ONCE = 4  # a function takes eight probes, and a script may have two of them


def rows_of(page: str) -> list[tuple[str, list[str]]]:
    """The column that says what there is here, and the quoted parts of the example."""
    table = page.split("## BTrace's features")[1].split("\n## ")[0]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in table.splitlines() if line.startswith("|")][2:]
    return [(row[1], re.findall(r"`([^`]+)`", row[2]) if len(row) > 2 else []) for row in cells]


class Console:
    """One `lagwatch probe`."""

    def __init__(self, lagwatch: str, pid: int, script: str, options: list[str]) -> None:
        words = script.split() if re.fullmatch(r"[\w-]+ \w+", script) else [script]
        self.script = script
        self.process = subprocess.Popen([lagwatch, "probe", str(pid), *words, *options], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.is_ended_by_program = script.startswith("exit")

    def wait_until_armed(self) -> None:
        errors = ""
        while "armed at" not in errors:
            line = self.process.stderr.readline()
            assert line, f"{self.script}: {errors}"
            errors += line

    def interrupt(self) -> None:
        if not self.is_ended_by_program:
            self.process.send_signal(signal.SIGINT)

    def output(self) -> str:
        """Until its end."""
        output, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, f"{self.script}: {errors}"
        hits = re.search(r"probe: (\d+) hit", errors)
        assert hits and int(hits[1]) > 0, f"{self.script}: {output}{errors}"
        return output


class Program:
    """The probed program."""

    def __init__(self, command: list[str]) -> None:
        self.is_java = len(command) > 1
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        assert self.process.stdout.readline() == "ready\n"

    def work(self) -> None:
        for what in WORK_OF_JAVA if self.is_java else WORK:
            self.process.stdin.write(f"{what} {CALLS}\n")
            while self.process.stdout.readline() != "done\n":
                pass

    def end(self) -> None:
        self.process.stdin.write("exit 3\n")
        assert self.process.wait(60) == 3


def check_together(lagwatch: str, command: list[str], examples: list[list[str]]) -> None:
    program = Program(command)
    if program.is_java:
        program.work()  # loads the classes
    pid = program.process.pid
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as statsd:
        statsd.bind(("127.0.0.1", 0))
        statsd.settimeout(30)
        file = pathlib.Path(folder) / "probes.prom"
        place = f"127.0.0.1:{statsd.getsockname()[1]}"
        consoles = []
        for script, *options in examples:
            words = " ".join(options).replace("FILE", str(file)).replace("HOST:PORT", place).split()
            consoles.append(Console(lagwatch, pid, script, words))
        for console in consoles:
            console.wait_until_armed()
        if any(script.startswith("event") for script, *_ in examples):
            subprocess.check_call([lagwatch, "probe", str(pid), "--event", "tick=42"], stdout=subprocess.DEVNULL)
        program.work()
        for console in consoles:
            console.interrupt()
        at_exit = [console for console in consoles if console.is_ended_by_program]
        for console in [each for each in consoles if each not in at_exit]:
            console.output()
        program.end()
        assert all(re.search(r"\b3\b", console.output()) for console in at_exit)
        options = " ".join(word for _, *rest in examples for word in rest)
        assert "FILE" not in options or "lagwatch_probe_count" in file.read_text()
        assert "HOST:PORT" not in options or statsd.recv(1000).startswith(b"lagwatch.count")


def check_refused(lagwatch: str, command: list[str], example: list[str]) -> None:
    program = Program(command)
    refused = subprocess.run([lagwatch, "probe", str(program.process.pid), *example], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2, f"{example}: {refused.stdout}{refused.stderr}"
    program.end()


def main() -> None:
    repository, lagwatch, *command = sys.argv[1:]
    rows = rows_of((pathlib.Path(repository) / "docs/probes.md").read_text())
    assert len(rows) > 30, rows
    is_java = len(command) > 1
    examples = []
    for here, example in rows:
        is_there = not here.startswith("not there")
        assert example or not is_there, here
        if not example or is_java != example[0].startswith("java "):
            continue
        if is_there:
            examples.append(example)
        else:
            check_refused(lagwatch, command, example)
    at_once = len(examples) if is_java else AT_ONCE
    with concurrent.futures.ThreadPoolExecutor() as pool:
        groups = [examples[begin:begin + at_once] for begin in range(0, len(examples), at_once)]
        for group in [pool.submit(check_together, lagwatch, command, each) for each in groups]:
            group.result()


if __name__ == "__main__":
    main()
