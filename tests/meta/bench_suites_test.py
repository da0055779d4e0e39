#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what bench/harness/suites.py reads from each suite: a description, and targets that CMake knows."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = ROOT / "bench/harness/suites.py"
sys.path.insert(0, str(SUITES.parent))
import suites  # noqa: E402

DEFINITION = re.compile(r"^\s*(?:add_executable|add_library|lagwatch_\w+)\((\w[\w-]*)", re.MULTILINE)


def targets():
    """Names of targets; bench/CMakeLists.txt has those of suites without their prefix."""
    found = set()
    for folder in ("bench", "collector", "sdk", "tests/sdk/adapters", "tools"):
        for path in (ROOT / folder).glob("**/CMakeLists.txt"):
            found.update(DEFINITION.findall(path.read_text()))
    return found | {f"bench_{name}" for name in found} | {f"{name}_tests" for name in found}


class Suites(unittest.TestCase):
    def plan(self, name):
        done = subprocess.run([sys.executable, SUITES, "plan", name], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split() for line in done.stdout.splitlines()]

    def test_each_is_described_and_can_be_built(self):
        known = targets()
        for name, path in suites.suites().items():
            with self.subTest(name):
                self.assertGreater(len(suites.description(path)), 80)
                _, wanted, command = self.plan(name)
                self.assertTrue(wanted)
                self.assertEqual(set(wanted) - known, set())
                self.assertTrue(command[0] == "python3" or command == [f"build/release/bin/{wanted[0]}"])

    def test_unknown_suite_is_refused(self):
        done = subprocess.run([sys.executable, SUITES, "plan", "nothing"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there are: adapters attach bindings", done.stderr)


if __name__ == "__main__":
    unittest.main()
