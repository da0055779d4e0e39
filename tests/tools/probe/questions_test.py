#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the questions of docs/howto/probes.md to the programs, and holds the answers to what the programs do.

Usage: questions_test.py REPOSITORY DIRECTORY_OF_PROGRAMS [--write]. --write puts the answers into the page.
"""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from asked_programs import PROGRAMS

# By the order of the page: patterns that the answers must have.
TRUTH = [r"\d+  user:7\n +\d+  user:8", r"histogram\(duration\)\n +[\[(]", r"\d+  404\n", r"/index\.html\n",
         r"\d+  ValueError\n", r"avg\(duration\) by node\n +\S+  localhost\n", r"\d+  /etc/hostname\n",
         r"\d+ms  SELECT pg_sleep\(0\.03\);", r"histogram\(duration\)\n +[\[(]", r"  (?:[5-9]\d|\d{3,})(?:\.\d+)?ms\n"]
BLOCK = re.compile(r"^```sh\n(.*?)^```$\n(?:\n```text\n(.*?)^```$\n)?", re.MULTILINE | re.DOTALL)


def titles(answer: str) -> list[str]:
    """The names of results; numbers and rows are those of a run."""
    return [line for line in answer.splitlines() if re.match(r"[a-z]+\(|count", line)]


def ask(command: str, pid: int, environment: dict[str, str]) -> str:
    name = re.match(r"lagwatch probe (\S+)", command)[1]
    run = subprocess.run(["/bin/sh", "-c", command.replace(f"probe {name}", f"probe {pid}", 1).replace("--for 10s", "--for 1s")],
                         env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
    return run.stdout


def answers_of(commands: list[str], environment: dict[str, str]) -> list[str | None]:
    """None for a program that is missing."""
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor() as pool:
        pids = {}
        for name in {command.split()[2] for command in commands}:
            context, needed = PROGRAMS[name]
            if os.path.exists(needed):
                folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
                folder.chmod(0o755)  # servers have users of their own
                pids[name] = stack.enter_context(context(folder))
        asked = [pool.submit(ask, command, pids[name], environment) if (name := command.split()[2]) in pids else None for command in commands]
        return [each.result() if each else None for each in asked]


def main() -> None:
    page = pathlib.Path(sys.argv[1]) / "docs/howto/probes.md"
    text = page.read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == len(TRUTH), blocks
    environment = dict(os.environ, PATH=f"{sys.argv[2]}:{os.environ['PATH']}")
    answers = answers_of([command for command, _ in blocks], environment)
    for (command, shown), truth, answer in zip(blocks, TRUTH, answers):
        if answer is None:
            print("missing:", command.split()[2])
            continue
        assert re.search(truth, answer), f"{command}\n{answer}\nlacks {truth}"
        if "--write" not in sys.argv:
            assert shown and titles(shown) == titles(answer), f"{command} shows\n{shown}\nit is\n{answer}"
    if "--write" in sys.argv:
        rest = iter(answers)

        def with_answer(block: re.Match[str]) -> str:
            answer = next(rest)
            shown = block[2] if answer is None else "".join(line + "\n" for line in answer.splitlines()[:12])
            return f"```sh\n{block[1]}```\n\n```text\n{shown}```\n"

        page.write_text(BLOCK.sub(with_answer, text))


if __name__ == "__main__":
    main()
