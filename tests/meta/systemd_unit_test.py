#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has systemd check the collector's unit, with the program that was built, and its flags checked by that.

Usage: systemd_unit_test.py UNIT PROGRAM
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def main() -> int:
    unit, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    if shutil.which("systemd-analyze") is None:
        print("there is no systemd-analyze")
        return 77
    installed = "/usr/bin/lagwatch-collector"
    text = unit.read_text()
    assert installed in text
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory) / unit.name
        copy.write_text(text.replace(installed, program))
        verified = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
        warnings = [line for line in verified.stderr.splitlines() if str(copy) in line]
        assert verified.returncode == 0 and not warnings, verified.stderr
        rated = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", copy],
                               capture_output=True, text=True)
        assert rated.returncode == 0, rated.stdout[-500:] + rated.stderr
        flags = re.search(r'^Environment="LAGWATCH_COLLECTOR_FLAGS=([^"]*)"', text, re.MULTILINE).group(1).split()
        parsed = subprocess.run([program, "--data", directory + "/data", *flags, "--print-seal-key"],
                                capture_output=True, text=True)
        assert parsed.returncode == 0, parsed.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
