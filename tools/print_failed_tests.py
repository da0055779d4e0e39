#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the last lines of each failed test's output, from a JUnit file of ctest: the end of a long log shows them then."""
import sys
import xml.etree.ElementTree

MAX_LINES = 25


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: print_failed_tests.py JUNIT_FILE")
    try:
        cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        sys.exit(f"{sys.argv[1]} cannot be read: {error}")
    for case in cases:
        if case.get("status") != "fail":
            continue
        lines = (case.findtext("system-out") or "").rstrip().splitlines()
        print(f"\n== {case.get('name')} failed; the last lines of its output:", *lines[-MAX_LINES:], sep="\n")


if __name__ == "__main__":
    main()
