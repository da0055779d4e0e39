# SPDX-License-Identifier: Apache-2.0
"""The lagwatch command: programs under it, and the reports in a spool or of the collector that the environment names."""
import json
import subprocess


class Lagwatch:
    def __init__(self, binaries, spool=None, environment=None):
        self.program = str(binaries / "lagwatch")
        self.spool = ["--spool", str(spool)] if spool else []
        self.environment = environment

    def watched(self, command, *options, threshold_ms):
        """The command that runs `command` under lagwatch."""
        return [self.program, "run", "--threshold-ms", str(threshold_ms), *self.spool, *options, "--", *map(str, command)]

    def call(self, *words):
        return subprocess.run([self.program, *map(str, words)], env=self.environment, capture_output=True, text=True, errors="replace",
                              timeout=120, check=False)

    def reports(self):
        """The heads of the reports."""
        return self._json("reports") or []

    def report(self, head):
        """The whole report."""
        return head | (self._json("report", head["id"]) or {})

    def whole_reports(self):
        return [self.report(head) for head in self.reports()]

    def _json(self, *words):
        return json.loads(self.call(*words, *self.spool, "--json").stdout or "null")


def functions(frames):
    """The names of the frames' functions; an empty one where there is no name."""
    return [(frame.get("function") or "") for frame in frames]
