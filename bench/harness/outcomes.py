# SPDX-License-Identifier: Apache-2.0
"""Reports compared with the truth that a recipe has planted, a row for each, for the figures of a suite and for scripts/confidence.

A row has the `suite`, its `case`, the `load` that the suite makes and that of the `machine`, the `expected` word of the verdict and the `word` of the report (None without one), and
`right`: {what: whether it is}, of what the case has: `function`, `owner` (a thread), `peer` (a process), `candidate`
(in the first two), `first_candidate`, `duration` (within 2 %).
"""
import json
import os

FIGURES = {"words_pct": "word", "functions_pct": "function", "owners_pct": "owner", "peers_pct": "peer",
           "candidates_in_first_two_pct": "candidate", "durations_within_2_pct": "duration"}


class Outcomes:
    def __init__(self, suite, path=None):
        self.suite, self.path, self.rows = suite, path, []

    def add(self, case, load, expected, word, **right):
        row = {"suite": self.suite, "case": case, "load": load, "machine": round(os.getloadavg()[0], 1), "expected": expected, "word": word, "right": right}
        self.rows.append(row)
        return row

    def keep(self):
        """Appends the rows to the file, if there is one."""
        if self.path:
            with open(self.path, "a") as file:
                file.writelines(json.dumps(row) + "\n" for row in self.rows)

    def pct(self, load, what):
        """The share of right rows at that load, in percent; `word` compares the words. None if no row has it."""
        rows = [row for row in self.rows if row["load"] == load]
        if what == "word":
            values = [row["word"] == row["expected"] for row in rows if row["expected"]]
        else:
            values = [row["right"][what] for row in rows if row["right"].get(what) is not None]
        return round(100 * sum(values) / len(values), 1) if values else None

    def figures(self, load):
        """Those of the suite's result, null without a row."""
        return {key: self.pct(load, what) for key, what in FIGURES.items()}


def word_of(report):
    """The word that `lagwatch report` shows first: of a starved thread what it would have done with a processor."""
    word = report["verdict"]["word"]
    return report["facts"].get("verdict_with_processor") or word if word in ("starved", "throttled") else word


def is_within(measured_ms, true_ms, percent=2):
    return abs(measured_ms - true_ms) <= true_ms * percent / 100
