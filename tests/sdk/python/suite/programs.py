# SPDX-License-Identifier: Apache-2.0
"""Runs small programs with the installed package, and reads their reports by the command lagwatch."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
from typing import Any

COMMAND = os.environ.get("LAGWATCH_COMMAND", "lagwatch")
START = 'import asyncio, os, sys, threading, time, lagwatch\nassert lagwatch.start(app="program", threshold_ms=300), lagwatch.why_off()\n'


class Program:
    """A home of its own, whose spool directory is the default one."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self._folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "LAGWATCH_"))}
        self.environment.update(HOME=str(self.home), LAGWATCH_COMMAND=COMMAND, PYTHONFAULTHANDLER="1")

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.home / name
        path.write_text(textwrap.dedent(text))
        return path

    def run(self, text: str, start: str = START) -> str:
        """Runs the program to its end; returns its output."""
        path = self.home / "program.py"
        path.write_text(start + textwrap.dedent(text))
        return self.output_of([sys.executable, str(path)])

    def output_of(self, command: list[str], status: int = 0) -> str:
        ended = subprocess.run(command, cwd=self.home, env=self.environment, text=True, timeout=60, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert ended.returncode == status, f"exit status {ended.returncode}\n{ended.stdout}"
        return ended.stdout

    def reports(self) -> list[dict[str, Any]]:
        """The first report of each hang, the oldest first."""
        ended = subprocess.run([COMMAND, "reports", "--json"], env=self.environment, capture_output=True, text=True, check=False)
        found = json.loads(ended.stdout) if ended.stdout.strip() else []
        assert ended.returncode == 0 or "no reports" in ended.stderr, ended
        return sorted((report for report in found if report["ordinal"] == 0), key=lambda report: report["start_wall_ms"])

    def report(self, report_id: str) -> dict[str, Any]:
        return json.loads(subprocess.check_output([COMMAND, "report", report_id, "--json"], env=self.environment))

    def hangs(self) -> list[tuple[str, str]]:
        """Of each report, its tag and the innermost function of its cause, as "import_orders (program.py)". A busy machine may
        give a callback no processor for long: that is no hang that the program has planted."""
        return [(report["tag"], report["cause"][0]) for report in self.reports() if self.report(report["id"])["verdict"]["word"] != "starved"]
