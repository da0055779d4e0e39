#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel, installs it in a clean virtual environment, and runs the package's own suite there.

Usage: package_test.py [--whole] REPOSITORY LIBRARY COMMAND [PYTHON]. Exits with 77 if Debian's packages for it are missing.
--whole runs all of the suite also with a wheel that has no copy of the library, and takes LIBRARY.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
DEBIANS = "/usr/bin/python3"
PROBE = "import lagwatch, re; print(*{m for m in re.findall(r'/.*liblagwatch.so.*', open('/proc/self/maps').read())})"


def output_of(*command: object, **options: object) -> str:
    ended = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    assert ended.returncode == 0, f"{command}: exit status {ended.returncode}\n{ended.stdout}"
    return ended.stdout.strip()


class Environment:
    """A virtual environment with nothing but a wheel."""

    def __init__(self, folder: pathlib.Path, python: str, wheel: str) -> None:
        self.python = folder / "bin/python"
        install = ["install", "--quiet", "--no-index", "--disable-pip-version-check", wheel]
        if python == DEBIANS:  # its pip serves its own environments, which then need none
            output_of(python, "-m", "venv", "--without-pip", folder)
            output_of(python, "-m", "pip", "--python", self.python, *install)
        else:
            output_of(python, "-m", "venv", folder)
            output_of(self.python, "-m", "pip", *install)


def tests_of(module: pathlib.Path) -> list[str]:
    """As unittest names them."""
    names, owner = [], ""
    for line in module.read_text().splitlines():
        if found := re.match(r"class (\w+)\(unittest", line):
            owner = found[1]
        elif found := re.match(r"    def (test_\w+)", line):
            names.append(f"{module.stem}.{owner}.{found[1]}")
    return names


def suite(folder: pathlib.Path, tests: list[str], environment: Environment, variables: dict[str, str]) -> None:
    def run(test: str) -> str:
        ended = subprocess.run([environment.python, "-m", "unittest", test], env=variables, cwd=folder, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, check=False)
        # From Python 3.12 on, a test that is skipped has a status of its own.
        assert ended.returncode == 0 or "skipped=1" in ended.stdout, f"{test}: exit status {ended.returncode}\n{ended.stdout}"
        return ended.stdout
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # they sleep, most of the time
        for test, output in zip(tests, pool.map(run, tests)):
            print(test, output.splitlines()[-1])


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--whole"]
    repository, library, command = (pathlib.Path(argument).resolve() for argument in arguments[:3])
    python = arguments[3] if len(arguments) > 3 else DEBIANS
    if subprocess.run([DEBIANS, "-c", "import setuptools, wheel, pip, venv"], capture_output=True, check=False).returncode:
        print("missing: python3-setuptools, python3-wheel, python3-pip, python3-venv")
        sys.exit(SKIPPED)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LAGWATCH_"))}
    variables.update(LAGWATCH_COMMAND=str(command), PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryDirectory() as work_name:
        work = pathlib.Path(work_name)
        def built(name: str, *options: str) -> str:
            return output_of(DEBIANS, repository / "sdk/python/build_wheel.py", "--include", repository / "sdk/include",
                             "--library", library, "--output", work / name, *options)
        wheel = built("wheel")
        assert pathlib.Path(wheel).read_bytes() == pathlib.Path(built("again")).read_bytes(), "the wheel is not reproducible"
        own = Environment(work / "own", python, wheel)
        assert output_of(own.python, "-c", PROBE).startswith(str(work / "own")), "it has a copy of the library"

        bare = Environment(work / "bare", python, built("bare", "--no-copy"))
        installed = work / "lib"  # as the Debian package's folder
        installed.mkdir()
        (installed / "liblagwatch.so.0").symlink_to(library)
        found = output_of(bare.python, "-c", PROBE, env=dict(variables, LD_LIBRARY_PATH=str(installed)))
        assert pathlib.Path(found) == library, found

        others = work / "others"  # of Debian's packages, the servers alone
        others.mkdir()
        for name in ("gevent", "greenlet", "gunicorn", "pkg_resources", "setuptools", "uvloop", "zope"):
            if python == DEBIANS and os.path.isdir(f"/usr/lib/python3/dist-packages/{name}"):
                (others / name).symlink_to(f"/usr/lib/python3/dist-packages/{name}")
        folder = pathlib.Path(__file__).parent / "suite"
        tests = [test for module in sorted(folder.glob("test_*.py")) for test in tests_of(module)]
        assert len(tests) > 20, tests
        variables.update(PYTHONPATH=str(others), LAGWATCH_PAGE=str(repository / "docs/python.md"))
        suite(folder, tests, own, variables)
        if "--whole" not in sys.argv:
            tests = [test for test in tests if "Spans.test_scope" in test]
        suite(folder, tests, bare, dict(variables, LD_LIBRARY_PATH=str(installed)))


if __name__ == "__main__":
    main()
