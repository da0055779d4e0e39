#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has systemd check a unit, with the program that was built; the collector's settings are checked by that.

Usage: systemd_unit_test.py UNIT PROGRAM MOST_EXPOSURE (tenths, as `systemd-analyze security` rates it)
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def main() -> int:
    unit, program, most_exposure = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if shutil.which("systemd-analyze") is None:
        print("there is no systemd-analyze")
        return 77
    installed = f"@BINDIR@/{pathlib.Path(program).name}"
    text = unit.read_text()
    assert installed in text
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory) / unit.stem
        copy.write_text(text.replace(installed, program))
        verified = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
        warnings = [line for line in verified.stderr.splitlines() if str(copy) in line]
        assert verified.returncode == 0 and not warnings, verified.stderr
        rated = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={most_exposure}", copy],
                               capture_output=True, text=True)
        assert rated.returncode == 0, rated.stdout[-500:] + rated.stderr
        settings = re.search(r"--settings /etc/lagwatch/(\S+)", text)
        if settings is None:
            return 0
        settings = unit.parent / settings.group(1)
        parsed = subprocess.run([program, "--settings", settings, "--data", directory + "/data", "--print-seal-key"],
                                capture_output=True, text=True)
        assert parsed.returncode == 0, parsed.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
