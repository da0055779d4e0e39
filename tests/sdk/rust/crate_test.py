#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the crate and its example without a network, and compares what is reported of the example.

Usage: crate_test.py REPOSITORY LIBRARY COMMAND CARGO
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


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
        assert hangs == {("lag", "resize", resize), ("lag", "", resize), ("scope", "import", resize)}, hangs


if __name__ == "__main__":
    main()
