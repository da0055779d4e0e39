#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_symbols.py distinguishes allowed symbols from others, in an archive and a shared library that lagwatch builds.

check_symbols_test.py NM ARCHIVE LIBRARY: the archive calls open(); the library exports lw_start().
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().with_name("check_symbols.py")
NM, ARCHIVE, LIBRARY = sys.argv[1:]


def check(kind, listed, file):
    """Runs the script with a list of names; its status and lines, without the list's name."""
    with tempfile.TemporaryDirectory() as directory:
        names = pathlib.Path(directory, "names.txt")
        names.write_text("\n".join(listed), encoding="utf-8")
        result = subprocess.run([sys.executable, SCRIPT, "--nm", NM, kind, names, file],
                                capture_output=True, encoding="utf-8")
        return result.returncode, result.stdout.replace(f"{names}: ", "").splitlines()


class CheckSymbolsTest(unittest.TestCase):
    def names_from(self, kind, file):
        status, lines = check(kind, [], file)
        self.assertEqual(status, 1)
        return [line.split()[0] for line in lines]

    def test_a_needed_symbol_must_be_listed(self):
        needed = self.names_from("needs", ARCHIVE)
        self.assertIn("open", needed)
        self.assertEqual(check("needs", needed, ARCHIVE), (0, []))
        needed.remove("open")
        self.assertEqual(check("needs", needed, ARCHIVE), (1, ["open is used, but not listed"]))

    def test_a_comment_lists_nothing(self):
        needed = self.names_from("needs", ARCHIVE)
        commented = ["# open" if name == "open" else name for name in needed]
        self.assertEqual(check("needs", commented, ARCHIVE), (1, ["open is used, but not listed"]))

    def test_an_exported_symbol_must_be_listed(self):
        exported = self.names_from("exports", LIBRARY)
        self.assertEqual(check("exports", exported, LIBRARY), (0, []))
        exported.remove("lw_start")
        self.assertEqual(check("exports", exported, LIBRARY), (1, ["lw_start is exported, but not listed"]))

    def test_a_listed_symbol_must_be_exported(self):
        exported = self.names_from("exports", LIBRARY)
        self.assertEqual(check("exports", [*exported, "lw_gone"], LIBRARY),
                         (1, ["lw_gone is listed, but not exported"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
