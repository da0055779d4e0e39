# SPDX-License-Identifier: Apache-2.0
"""The function and the line that a recipe's source is marked to freeze in: see recipes.py."""
import re


def expectation(source):
    """(function, line, whether it is another thread's) of a recipe."""
    marks = {}
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if mark := re.search(r"\b(FREEZE|KEEPS) (\S+)$", line):
            marks[mark[1]] = (mark[2], number, mark[1] == "KEEPS")
    return marks.get("KEEPS") or marks["FREEZE"]


def matches(frame, name, line):
    function = frame.get("function") or ""
    return frame.get("line") == line and (function.split(" (")[0].split(".")[-1] == name.split(".")[-1])
