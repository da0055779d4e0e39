#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the sh blocks of docs/commands.md, with the reports of a program that froze.

Usage: docs_commands_test.py REPOSITORY DIRECTORY_OF_PROGRAMS
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def main() -> None:
    repository, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    text = (repository / "docs/commands.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 11, blocks
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LAGWATCH_")}
    environment.pop("XDG_STATE_HOME", None)
    with tempfile.TemporaryDirectory() as home:
        environment.update(PATH=f"{programs}:{os.environ['PATH']}", HOME=home)
        for block in blocks:
            result = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=home, env=environment, text=True,
                                    stdin=subprocess.DEVNULL, capture_output=True)
            assert result.returncode == 0, f"{block}\nexited with {result.returncode}\n{result.stdout}{result.stderr}"
            # The names of checks that are printed are those of the table.
            for name in re.findall(r"^  (?:ok|limited|no) +([a-z]+(?: TLS)?) ", result.stdout, re.MULTILINE):
                assert f"`{name}`" in text or f" {name} " in text, f"the document does not name the check {name}"


if __name__ == "__main__":
    main()
