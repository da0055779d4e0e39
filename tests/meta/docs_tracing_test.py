#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the sh blocks of docs/tracing.md, and holds its options, formats and pictures to what there is.

Usage: docs_tracing_test.py REPOSITORY DIRECTORY_OF_PROGRAMS
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(script: str, home: str, environment: dict[str, str]) -> str:
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=home, env=environment, text=True,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert result.returncode == 0, f"{script}\nexited with {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def main() -> None:
    repository, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    text = (repository / "docs/tracing.md").read_text()
    sample = (repository / "samples/recording/main.cc").read_text()
    assert f"```cpp\n{sample.split(chr(10), 1)[1]}```" in text, "the C++ of docs/tracing.md is not samples/recording/main.cc"
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", PORT=str(free_port()))
    with tempfile.TemporaryDirectory() as home:
        outputs = [run(script, home, environment)
                   for script in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
        assert len(outputs) == 5, outputs
        assert "<module> (busy.py:" in outputs[0], outputs[0]
        assert "Import" in outputs[2], outputs[2]
        assert re.search(r"^\d+ functions, [1-9]\d* taken by the rules", outputs[4]), outputs[4]
        assert float(outputs[3].split()[1]) > 50, outputs[3]
        assert "aeMain" in (pathlib.Path(home) / "redis.collapsed").read_text()
        for name in ("python.speedscope.json", "redis.speedscope.json", "redis.pb.gz"):
            assert (pathlib.Path(home) / name).stat().st_size > 1000, name
        commands = run("for each in record show top convert compare; do lagwatch trace $each --help; done; lagwatch instrument list --help", home, environment)
    for option in set(re.findall(r"`(--[\w-]+)", text)):
        assert option == "--" or option in commands, f"docs/tracing.md tells of {option}, which there is not"
    formats = text[text.index("\n## Formats\n"):]
    for name in re.findall(r"^\| `(\w+)`", formats, re.MULTILINE):
        assert name in commands, f"docs/tracing.md tells of the format {name}, which there is not"
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (repository / "docs" / link).exists(), f"docs/tracing.md links to {link}, which is not there"


if __name__ == "__main__":
    main()
