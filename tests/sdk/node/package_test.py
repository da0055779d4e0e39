#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the npm package, installs it in a clean directory, and runs the package's own suite there.

Usage: package_test.py [--whole] REPOSITORY LIBRARY COMMAND MODULES. MODULES is a folder with node_modules that has express, of
package-lock.json. Exits with 77 if there is no Node or no header of it.
--whole runs the suite also with a package that has no copy of the library, and takes LIBRARY.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PROBE = 'require("lagwatch"); console.log(...new Set(require("fs").readFileSync("/proc/self/maps", "utf8").match(/\\/.*liblagwatch.so.*/g)))'


def output_of(*command: object, **options: object) -> str:
    ended = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    assert ended.returncode == 0, f"{command}: exit status {ended.returncode}\n{ended.stdout}"
    return ended.stdout.strip()


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--whole"]
    repository, library, command, modules = (pathlib.Path(argument).resolve() for argument in arguments)
    if not shutil.which("node") or not shutil.which("npm"):
        print("missing: node, npm")
        sys.exit(SKIPPED)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("LAGWATCH_", "NODE_"))}
    variables.update(LAGWATCH_COMMAND=str(command), npm_config_offline="true", npm_config_update_notifier="false")
    with tempfile.TemporaryDirectory() as work_name:
        work = pathlib.Path(work_name)

        def installed(name: str, *options: str) -> pathlib.Path:
            packed = subprocess.run([sys.executable, repository / "sdk/node/build_package.py", "--include", repository / "sdk/include", "--library",
                                     library, "--output", work / f"{name}.packed", *options], text=True, capture_output=True, check=False)
            if "node_api.h is not on this machine" in packed.stderr:
                print(packed.stderr)
                sys.exit(SKIPPED)
            assert packed.returncode == 0, packed.stderr
            folder = work / name
            shutil.copytree(pathlib.Path(__file__).parent / "suite", folder, ignore=shutil.ignore_patterns("node_modules"))
            (folder / "package.json").write_text('{"private": true}')
            output_of("npm", "install", "--no-audit", "--no-fund", packed.stdout.strip(), cwd=folder, env=variables)
            return folder
        own = installed("own")
        assert output_of("node", "-e", PROBE, cwd=own, env=variables).startswith(str(own)), "it has a copy of the library"
        bare = installed("bare", "--no-copy")
        system = work / "lib"  # as the Debian package's folder
        system.mkdir()
        (system / "liblagwatch.so.0").symlink_to(library)
        with_system = dict(variables, LD_LIBRARY_PATH=str(system))
        assert pathlib.Path(output_of("node", "-e", PROBE, cwd=bare, env=with_system)) == library
        suites = {own: variables, bare: with_system} if "--whole" in sys.argv else {own: variables}
        for folder, environment in suites.items():
            for module in (modules / "node_modules").iterdir() if (modules / "node_modules").exists() else []:
                if not module.name.startswith("."):
                    (folder / "node_modules" / module.name).symlink_to(module)
            shutil.copy(repository / "docs/node.md", folder)
            print(output_of("node", "--test", cwd=folder, env=environment))


if __name__ == "__main__":
    main()
