# SPDX-License-Identifier: Apache-2.0
"""Compares a report of a frozen program with what was planted."""
import time

from harness.lagwatch import functions
from harness.outcomes import word_of
from harness.processes import wait_for


def has_any(words, texts):
    return any(word in text for word in words.split() for text in texts)


def named(owner):
    """The names by which a report has an owner."""
    return [owner.get("name") or "", (owner.get("process") or {}).get("name") or ""]


def faults(report, truth):
    """The faults of a report; empty if it is right."""
    wrong = []
    if word_of(report) not in truth.words.split():
        wrong.append(f"word {word_of(report)}")
    if not has_any(truth.functions, report.get("cause") or []):
        wrong.append(f"cause {report.get('cause')}")
    owner = ((report.get("waits") or [{}])[-1].get("owner")) or {}
    process = report["facts"].get("waits_for_name") or ""
    if truth.owner and not set(truth.owner.split()) & {*named(owner), process}:
        wrong.append(f"owner {named(owner)}")
    if truth.owner_function and not has_any(truth.owner_function, functions(owner.get("stack") or [])):
        wrong.append(f"owner at {functions(owner.get('stack') or [])[:4]}")
    return wrong


class Count:
    """The freezes of programs, those that have a report of their own, those whose report is right in all, and reports of none."""

    def __init__(self, progress):
        self.progress, self.freezes, self.found, self.blamed, self.false, self.programs = progress, 0, 0, 0, 0, 0

    def freeze_all(self, program, lagwatch):
        """Freezes a program that is watched in each of its ways; `lagwatch` has its reports."""
        self.programs += 1
        known = set()

        def take_new():
            new = [head for head in lagwatch.reports() if head["hang_id"] not in known]
            known.update(head["hang_id"] for head in new)
            return new
        for way, truth in program.ways.items():
            self.add_false(program, take_new())
            program.freeze(way)
            new = wait_for(take_new, 2, 0.5) or []
            time.sleep(1)  # its end
            self.add(program, way, truth, [lagwatch.report(head) for head in new])
        self.add_false(program, take_new())

    def add(self, program, way, truth, reports):
        """`reports`: those that are new. The one that says most is meant."""
        wrong = min((faults(report, truth) for report in reports), key=len, default=None)
        self.freezes += 1
        self.found += wrong is not None
        self.blamed += wrong == []
        text = "MISSED" if wrong is None else "WRONG " if wrong else "right "
        self.progress(f"{text} {program.name:9} {way:8} {'; '.join(wrong or [])}")

    def add_false(self, program, heads):
        self.false += len(heads)
        for head in heads:
            self.progress(f"FALSE  {program.name:9} {head['duration_ms']} ms {head.get('cause')}")

    def figures(self, prefix=""):
        return {"freezes": self.freezes, "found": self.found, "blamed": self.blamed, f"{prefix}false": self.false, f"{prefix}programs": self.programs}
