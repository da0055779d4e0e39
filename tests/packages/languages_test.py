#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of the Python and the npm package with the library and the commands of the packages for Debian: with a copy
of that library in the package, and with the library itself.

Usage: languages_test.py BUILD_DIRECTORY
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from package_files import REPOSITORY, SKIPPED, deb


def main() -> None:
    build = pathlib.Path(sys.argv[1])
    ran = 0
    with tempfile.TemporaryDirectory() as work_name:
        root = pathlib.Path(work_name) / "root"
        for name in ("lagwatch", "liblagwatch0"):
            subprocess.run(["dpkg-deb", "-x", deb(build, name), root], check=True)
        [library] = root.glob("usr/lib/*/liblagwatch.so.0.*")
        modules = pathlib.Path(work_name) / "modules"
        modules.mkdir()
        for file in ("package.json", "package-lock.json"):
            shutil.copy(REPOSITORY / "tests/sdk/node" / file, modules)
        if shutil.which("npm"):  # without a network, express is not tried
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=modules, check=False, stdout=subprocess.DEVNULL)
        for language, more in (("python", []), ("node", [modules])):
            ended = subprocess.run([sys.executable, REPOSITORY / f"tests/sdk/{language}/package_test.py", "--whole", REPOSITORY, library,
                                    root / "usr/bin/lagwatch", *more], check=False)
            assert ended.returncode in (0, SKIPPED), f"{language}: {ended.returncode}"
            ran += ended.returncode == 0
    sys.exit(0 if ran else SKIPPED)


if __name__ == "__main__":
    main()
