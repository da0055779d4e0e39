#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the README to its word: its C++ is a sample that is built, its sh blocks are run, its links lead somewhere, the
presets, switches and scripts of its section on the installation exist, and `lagwatch why` says of the frozen sample what it
says there and in docs/why.md. install.package tests what is installed.

Usage: readme_test.py REPOSITORY DIRECTORY_OF_PROGRAMS
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(script: str, programs: str, home: str) -> str:
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", HOME=home)
    for name in ("XDG_STATE_HOME", "LAGWATCH_ENDPOINT", "LAGWATCH_SPOOL", "LAGWATCH_KEY", "LAGWATCH_TOKEN"):
        environment.pop(name, None)
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=home, env=environment, text=True,
                            stdin=subprocess.DEVNULL, capture_output=True)
    assert result.returncode == 0, f"{script}\nexited with {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def check_installation(repository: pathlib.Path, section: str) -> None:
    presets = {preset["name"] for preset in json.loads((repository / "CMakePresets.json").read_text())["buildPresets"]}
    used = set(re.findall(r"--preset (\w+)", section))
    assert used and used <= presets, used
    cmake = "".join((repository / file).read_text() for file in ("CMakeLists.txt", "cmake/Dependencies.cmake"))
    switches = re.findall(r"^\| `(LAGWATCH_\w+)=", section, re.MULTILINE)
    assert len(switches) >= 4 and all(f"option({switch} " in cmake for switch in switches), switches
    for script, flag in re.findall(r"(scripts/\w+)(?: (--\w+))?", section):
        usage = subprocess.run([repository / script, "--help"], capture_output=True, text=True, check=True).stdout
        assert not flag or flag in usage, f"{script} has no {flag}"


def masked(text: str) -> str:
    """On one line, without what differs from run to run."""
    return re.sub(r"\b[0-9]{2,}\b", "N", re.sub(r"\b[0-9.]+ m?s\b", "N s", " ".join(text.split())))


def check_why(documents: list[str], programs: str) -> None:
    shown = [re.search(r"^    \$ lagwatch why deadlock\n((?:    .*\n)+)", text, re.MULTILINE)[1] for text in documents]
    with tempfile.TemporaryDirectory() as home, subprocess.Popen([f"{programs}/deadlock", "30", "20000", f"{home}/spool"]) as frozen:
        try:
            time.sleep(1.5)
            why = subprocess.run([f"{programs}/lagwatch", "why", str(frozen.pid)], text=True, capture_output=True, check=False)
        finally:
            frozen.kill()
    assert why.returncode == 1, why.stdout + why.stderr
    sentence = masked(why.stdout.partition("\n\n")[0])
    for text in shown:
        assert masked(text) == sentence, f"{masked(text)}\nis now\n{sentence}"


def main() -> None:
    repository, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    readme = (repository / "README.md").read_text()

    [example] = blocks(readme, "cpp")
    sample = (repository / "samples/hello/main.cc").read_text()
    assert sample.split("\n", 1)[1] == example, "the README's C++ is not samples/hello/main.cc"

    with tempfile.TemporaryDirectory() as home:
        output = [run(script, programs, home) for script in blocks(readme, "sh")]
    assert len(output) == 2, "the README's sh blocks are not the two that this test knows"
    assert output[0] == "as before\n", output[0]
    assert "main" in output[1] and "hello 1.0" in output[1] and '"level": 2' in output[1], output[1]

    check_installation(repository, re.search(r"^## Install\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)[1])
    check_why([readme, (repository / "docs/why.md").read_text()], programs)

    for link in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (repository / link).exists(), f"the README links to {link}, which is not there"


if __name__ == "__main__":
    main()
