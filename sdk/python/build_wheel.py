#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel with Debian's setuptools, without a network; the same sources and library give the same bytes.

Usage: build_wheel.py --include DIRECTORY --library FILE --output DIRECTORY [--no-copy]. Prints the wheel's path.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=pathlib.Path, required=True, help="the folder that has lagwatch/c.h")
    parser.add_argument("--library", type=pathlib.Path, required=True, help="liblagwatch.so")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--no-copy", action="store_true", help="without the library: for that of the Debian package")
    options = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parent
    environment = dict(os.environ, LAGWATCH_INCLUDE=str(options.include.resolve()), LAGWATCH_LIBRARY=str(options.library.resolve()),
                       LAGWATCH_BUNDLE="0" if options.no_copy else "1", PYTHONWARNINGS="ignore", PYTHONDONTWRITEBYTECODE="1")
    environment.setdefault("SOURCE_DATE_EPOCH", "315532800")  # the first date that a zip archive can have
    # An interpreter of another origin has its compiler's flags in what it builds.
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "lagwatch"
        if not (options.include / "lagwatch/adapters").exists():  # of a checkout, not of an installation
            (pathlib.Path(work) / "include/lagwatch").mkdir(parents=True)
            (pathlib.Path(work) / "include/lagwatch/adapters").symlink_to(source.parent / "adapters")
            environment["LAGWATCH_INCLUDE"] += f":{work}/include"
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__"))
        log = subprocess.run([python, "setup.py", "--quiet", "bdist_wheel"], cwd=folder, env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if log.returncode:
            sys.exit(f"{log.stdout}\nbuild_wheel: setuptools failed; Debian has it in python3-setuptools, python3-wheel, python3-dev")
        [wheel] = (folder / "dist").glob("*.whl")
        print(shutil.copy(wheel, options.output))


if __name__ == "__main__":
    main()
