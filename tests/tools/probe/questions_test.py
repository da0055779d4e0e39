#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the questions of docs/howto/probes.md to the programs, and holds the answers to what the programs do.

Usage: questions_test.py REPOSITORY DIRECTORY_OF_PROGRAMS [--write]. --write puts the answers into the page.
"""
import concurrent.futures
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
         r"\d+ms  SELECT pg_sleep\(0\.03\);", r"histogram\(duration\)\n +[\[(]", r"  (?:[5-9]\d|\d{3,})(?:\.\d+)?ms\n",
         r"s  java\.\w+", r"\d+  com\.sun\.tools\.javac\.tree\.JCTree\$JC\w+  com\.sun\.tools\.javac\.comp\.Attr::\w+\n",
         r"s  int answer = 6 \* 7;"]
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


def answers_of(name: str, commands: list[str], environment: dict[str, str]) -> dict[str, str]:
    """Nothing of a program that is missing."""
    context, needed = PROGRAMS[name]
    if not os.path.exists(needed):
        print("missing:", name)
        return {}
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        os.chmod(folder, 0o755)  # servers have users of their own
        with context(pathlib.Path(folder)) as pid:
            return dict(zip(commands, pool.map(lambda command: ask(command, pid, environment), commands)))


def all_answers(commands: list[str], environment: dict[str, str]) -> dict[str, str]:
    by_name: dict[str, list[str]] = {}
    for command in commands:
        by_name.setdefault(command.split()[2], []).append(command)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = [pool.submit(answers_of, name, of_program, environment) for name, of_program in by_name.items()]
        return {command: answer for each in asked for command, answer in each.result().items()}


def main() -> None:
    page = pathlib.Path(sys.argv[1]) / "docs/howto/probes.md"
    text = page.read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == len(TRUTH), blocks
    environment = dict(os.environ, PATH=f"{sys.argv[2]}:{os.environ['PATH']}")
    answers = all_answers([command for command, _ in blocks], environment)
    if not answers:
        sys.exit(77)
    for (command, shown), truth in zip(blocks, TRUTH):
        if command not in answers:
            continue
        assert re.search(truth, answers[command]), f"{command}\n{answers[command]}\nlacks {truth}"
        if "--write" not in sys.argv:
            assert shown and titles(shown) == titles(answers[command]), f"{command} shows\n{shown}\nit is\n{answers[command]}"
    if "--write" in sys.argv:

        def with_answer(block: re.Match[str]) -> str:
            answer = answers.get(block[1])
            shown = block[2] if answer is None else "".join(line + "\n" for line in answer.splitlines()[:8])
            return f"```sh\n{block[1]}```\n\n```text\n{shown}```\n"

        page.write_text(BLOCK.sub(with_answer, text))


if __name__ == "__main__":
    main()
