#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when the preloaded library needs a newer C library than documented."""

import re
import subprocess
import sys

HIGHEST = (2, 34)


def main():
    readelf, library = sys.argv[1:]
    text = subprocess.run([readelf, "--version-info", library], check=True, stdout=subprocess.PIPE,
                          encoding="utf-8").stdout
    versions = {tuple(int(part) for part in version.split(".")) for version in re.findall(r"GLIBC_([0-9.]+)", text)}
    if not versions:
        return f"{library} names no version of glibc"
    print(f"{library} needs glibc {'.'.join(map(str, max(versions)))}")
    newer = sorted(version for version in versions if version > HIGHEST)
    return f"newer than {HIGHEST}: {newer}" if newer else 0


sys.exit(main())
