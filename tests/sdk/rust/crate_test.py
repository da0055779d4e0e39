#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the crate and its example without a network, and compares what is reported of the example.

Usage: crate_test.py REPOSITORY LIBRARY COMMAND CARGO
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


def check_page(page: str, work: pathlib.Path, command: pathlib.Path, rustc: str) -> None:
    """Compiles the program of docs/rust.md, and compares its cause with that of the page."""
    program, script, table = (re.search(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1] for language in ("rust", "sh", "text"))
    (work / "server.rs").write_text(program)
    subprocess.run([rustc, "-g", "server.rs"], cwd=work, check=True)
    run = next(line for line in script.splitlines() if line.startswith("lagwatch run"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LAGWATCH_", "XDG_"))}
    environment["HOME"] = str(work)
    subprocess.run([command, *shlex.split(run)[1:]], cwd=work, env=environment, check=True)
    found = json.loads(subprocess.check_output([command, "reports", "--json"], env=environment))
    cause = re.split(r"\s{2,}", table.splitlines()[1].strip())[4]
    assert cause in [" < ".join(report["cause"][:2]) for report in found], (cause, found)


def check_dependent(page: str, crate: pathlib.Path, folder: pathlib.Path, cargo: str, environment: dict[str, str]) -> None:
    """A program that depends on the crate starts, with the line of docs/rust.md in its build.rs."""
    line = re.search(r"^println!\(.*$", page, re.MULTILINE)[0]
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(f'[package]\nname = "app"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\nlagwatch = {{ path = "{crate}" }}\n')
    (folder / "build.rs").write_text(f"fn main() {{ {line} }}\n")
    (folder / "src/main.rs").write_text('fn main() { println!("{}", lagwatch::why_off()); }\n')
    subprocess.run([cargo, "build", "--quiet", "--offline"], cwd=folder, env=environment, check=True)
    assert subprocess.check_output([f"{environment['CARGO_TARGET_DIR']}/debug/app"], text=True).strip()


def main() -> None:
    repository, library, command = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as work:
        environment = dict(os.environ, LAGWATCH_LIB_DIR=str(library.parent), CARGO_TARGET_DIR=f"{work}/target", RUSTFLAGS="-D warnings")
        subprocess.run([sys.argv[4], "build", "--quiet", "--offline", "--locked", "--example", "worker", "--manifest-path",
                        repository / "sdk/rust/Cargo.toml"], env=environment, check=True)
        subprocess.run([f"{work}/target/debug/examples/worker", f"{work}/spool"], check=True)
        found = json.loads(subprocess.check_output([command, "reports", "--json", "--spool", f"{work}/spool"]))
        # The work after a wait is a dispatch without a name, also where a scope is a part of it.
        hangs = {(report["kind"], report["tag"], report["cause"][0]) for report in found}
        resize = "worker::resize"
        page = (repository / "docs/rust.md").read_text(encoding="utf-8")
        check_dependent(page, repository / "sdk/rust", pathlib.Path(work) / "app", sys.argv[4], environment)
        check_page(page, pathlib.Path(work), command, shutil.which("rustc") or "rustc")
        assert hangs == {("lag", "resize", resize), ("lag", "", resize), ("scope", "import", resize)}, hangs


if __name__ == "__main__":
    main()
