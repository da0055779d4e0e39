#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows a page of docs/howto: writes its files, runs its sh block, and compares the cause that it shows.

Usage: docs_howto_test.py REPOSITORY DIRECTORY_OF_PROGRAMS PAGE. Exits with 77 if a package that the page asks for is missing.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
PROGRAMS = {"go": "go", "node": "node", "java": "javac", "gtk": "xvfb-run", "nginx": "nginx"}  # besides Python


def causes_of(table: str) -> list[str]:
    """The causes below the head, without addresses of functions, which are those of a build."""
    head, *lines = [line for line in table.splitlines() if line.strip()]
    assert "CAUSE" in head, table
    return [re.sub(r"\+0x[0-9a-f]+", "+0x…", re.split(r"\s{2,}", line.strip())[4]) for line in lines]


def is_there(package: str) -> bool:
    status = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True, text=True, check=False)
    return status.stdout == "installed"


def output_of(script: str, home: str, environment: dict[str, str]) -> str:
    """Of the script, of which no process is left."""
    shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=home, env=environment, text=True, start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = shell.communicate(timeout=120)
        assert shell.returncode == 0, f"exited with {shell.returncode}\n{output}"
        return output
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def main() -> None:
    repository, programs, name = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    text = (repository / f"docs/howto/{name}.md").read_text()
    files = re.findall(r"^`([\w.]+)`.*:\n\n```(?!sh|text)\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    [script] = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    [expected] = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert files, text
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LAGWATCH_", "XDG_"))}
    # Debian's Python has Debian's packages.
    environment["PATH"] = f"{programs}:/usr/bin:/bin:/usr/sbin:{environment['PATH']}"
    missing = [package for line in re.findall(r"needs Debian's (.*):$", text, re.MULTILINE)
               for package in re.findall(r"`([\w.-]+)`", line) if not is_there(package)]
    program = PROGRAMS.get(name)
    if program and subprocess.run(["which", program], env=environment, capture_output=True, check=False).returncode:
        missing.append(program)
    if missing:
        print("missing:", *missing)
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as home:
        for file, content in files:
            (pathlib.Path(home) / file).write_text(content)
        os.chmod(home, 0o755)  # servers have users of their own
        environment.update(HOME=home, XDG_RUNTIME_DIR=home)
        output = output_of(script, home, environment)
        assert "HANG-S" in output, output
        # A busy machine may have held up the start, too.
        [cause] = causes_of(expected)
        assert cause in causes_of(output[output.index("HANG-S"):]), f"the page shows\n{expected}\nit is\n{output}"
        if word := re.search(r"The verdict of the report is `(\w+)`", text):
            verdicts = subprocess.check_output(["lagwatch", "reports", "--verdict", word[1]], cwd=home, env=environment, text=True)
            assert len(verdicts.splitlines()) == 2, verdicts


if __name__ == "__main__":
    main()
