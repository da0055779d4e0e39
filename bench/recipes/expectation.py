# SPDX-License-Identifier: Apache-2.0
"""The function and the line that a recipe's source is marked to freeze in: see recipes.py."""
import re

from harness.suite import progress


def marks(source):
    """{word: (its text, the number of its line)} of a source's marks."""
    found = {}
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if mark := re.search(r"\b(ALSO|BETWEEN|FREEZE|KEEPS|OPTIONS|VERDICT) (.+)$", line):
            found[mark[1]] = (mark[2], number)
    return found


def expectation(source):
    """(function, line, whether it is another thread's) of a recipe."""
    found = marks(source)
    return *(found.get("KEEPS") or found["FREEZE"]), "KEEPS" in found


def matches(frame, name, line):
    function = frame.get("function") or ""
    return frame.get("line") == line and (function.split(" (")[0].split(".")[-1] == name.split(".")[-1])


def show(is_named, what):
    """Prints an outcome, and returns it."""
    progress(f"{'named ' if is_named else 'MISSED'} {what}")
    return is_named
