#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when code of the preloaded library refers to one of the functions that the library hooks."""

import pathlib
import re
import subprocess
import sys


def main():
    readelf, library, exports = sys.argv[1:]
    hooks = set(re.findall(r"\w+(?=;)", pathlib.Path(exports).read_text()))
    # A reference to an exported function goes through the import table, because another module may define it.
    text = subprocess.run([readelf, "--wide", "--relocs", library], check=True, stdout=subprocess.PIPE,
                          encoding="utf-8").stdout
    imports = set(re.findall(r" (\w+)(?:@\S+)? \+ 0$", text, re.MULTILINE))
    if len(hooks) < 40 or "dlsym" not in imports:
        return f"cannot read {exports} or {library}"
    called = sorted(hooks & imports)
    return f"lagwatch would call its own hooks of {called}: see sdk/preload/own_calls.cc" if called else 0


sys.exit(main())
