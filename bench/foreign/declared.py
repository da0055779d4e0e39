# SPDX-License-Identifier: Apache-2.0
"""Differences that docs/hosts.md declares, because they cannot be hidden: they are counted apart from those that are defects."""

# Of a unit the tests, each with the outcome that it has when watched and nothing else.
TESTS = {
    # Counts the threads of its own process.
    "psutil/tests/test_linux": {".TestMisc.test_issue_687": "failure"},
}


def is_declared(unit, test, watched):
    return set(watched) == {TESTS.get(unit, {}).get(test)}
