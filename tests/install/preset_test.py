#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configures the preset `install`: each program and library that it builds is installed, and no other source is compiled.

Usage: preset_test.py REPOSITORY
"""
import pathlib
import re
import subprocess
import sys
import tempfile

DEVELOPERS = re.compile(r"^(tests|bench|samples|tools/schema|sdk/apple|sdk/android)/")


def main() -> None:
    repository = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as build:
        subprocess.run(["cmake", "--preset", "install", "-B", build], cwd=repository, check=True, stdout=subprocess.DEVNULL)
        targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout
        installed = (pathlib.Path(build) / "cmake_install.cmake").read_text()
    rules = dict(re.findall(r"^(\S+): (\S+)$", targets, re.MULTILINE))
    linked = {file for file, rule in rules.items() if re.search("(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)_LINKER", rule)}
    assert {"bin/lagwatch", "lib/lagwatch-commands", "bin/lagwatch-collector"} <= linked, linked
    missing = [file for file in sorted(linked) if f"/{file}\"" not in installed]
    assert not missing, f"built, but not installed: {missing}"
    compiled = [file for file, rule in rules.items() if "_COMPILER__" in rule]
    assert len(compiled) > 50, compiled
    others = [file for file in compiled if DEVELOPERS.match(file)]
    assert not others, f"compiled, but not for users: {others}"


if __name__ == "__main__":
    main()
