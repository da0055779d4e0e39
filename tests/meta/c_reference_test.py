#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/c_reference.py has each function of the C API, and refuses one without a comment.

Usage: c_reference_test.py REPOSITORY
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(sys.argv[1])
HEADERS = REPOSITORY / "sdk/include/lagwatch"


def run(folder):
    command = [sys.executable, REPOSITORY / "tools/c_reference.py", folder]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def main():
    page = run(HEADERS)
    assert page.returncode == 0, page.stderr
    header = (HEADERS / "c.h").read_text(encoding="utf-8")
    for name in re.findall(r"^LW_API [^;]*?\b(lw_\w+)\(", header, re.MULTILINE):
        assert f"`{name}`" in page.stdout, name
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(shutil.copytree(HEADERS, pathlib.Path(folder, "lagwatch")))
        bare = header.replace("/* Starts the monitor", "\nLW_API void lw_bare(void) LW_NOEXCEPT;\n/* Starts the monitor")
        (copy / "c.h").write_text(bare, encoding="utf-8")
        refused = run(copy)
        assert refused.returncode == 1 and "lw_bare" in refused.stderr, refused


if __name__ == "__main__":
    main()
