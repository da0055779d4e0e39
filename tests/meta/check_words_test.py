#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_words.py finds the words of its list in comments, messages and documents, and only there."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().with_name("check_words.py")


def check(path, content):
    with tempfile.TemporaryDirectory() as root:
        file = pathlib.Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, "--root", root, path], capture_output=True, encoding="utf-8")


class CheckWordsTest(unittest.TestCase):
    def assert_passes(self, path, content):
        result = check(path, content)
        self.assertEqual((result.returncode, result.stdout), (0, ""), f"{path}: {content}\n{result.stderr}")

    def assert_refused(self, path, content, line, words):
        result = check(path, content)
        self.assertEqual(result.returncode, 1, f"{path}: {content}\n{result.stderr}")
        self.assertTrue(result.stdout.startswith(f"{path}:{line}: '{words}': "), result.stdout)
        self.assertEqual(result.stdout.count("\n"), 1, result.stdout)

    def test_openings_of_comments_are_checked(self):
        self.assert_refused("a.h", "int a;\n// What it does.\n", 2, "What")
        self.assert_refused("a.h", "int a;  // How many there are.\n", 1, "How")
        self.assert_refused("a.h", "// SPDX-License-Identifier: MIT\n// Whose file it is.\n", 2, "Whose")
        self.assert_refused("a.h", "/* Where it lies. */\n", 1, "Where")
        self.assert_refused("a.py", 'def f():\n    """Why it fails."""\n', 2, "Why")
        self.assert_refused("a.sh", "true\n# Whose it is\n", 2, "Whose")

    def test_openings_of_sentences_are_checked(self):
        self.assert_refused("a.cc", "// Writes a record.\n// What fails is dropped.\n", 2, "What")

    def test_openings_within_a_comment_are_not(self):
        self.assert_passes("a.cc", "// Decides\n// What a line begins with in the middle of a sentence\n")
        self.assert_passes("a.h", "// Returns what is left.\n")

    def test_words_are_checked_across_lines(self):
        self.assert_refused("a.cc", "// Everything but\n// for the first.\n", 1, "but for")
        self.assert_refused("a.md", "A sentence that\ntells nothing.\n", 2, "tells")

    def test_messages_are_checked(self):
        self.assert_refused("a.cc", 'Fail("the server told us so");\n', 1, "told")
        self.assert_refused("a.tsx", "<p>Nobody is here</p>\n", 1, "Nobody")
        self.assert_refused("a.py", 'fail("it was in vain")\n', 1, "in vain")

    def test_descriptions_of_an_api_are_checked(self):
        self.assert_refused("openapi.json", '{\n "summary": "Why not",\n "told": 1\n}\n', 2, "Why")
        self.assert_passes("openapi.json", '{"description": "The reason", "title": "What was told"}\n')

    def test_messages_of_tests_are_not(self):
        self.assert_passes("tests/a.cc", 'Fail("the server told us so");\n')
        self.assert_refused("tests/a.cc", "// As told.\n", 1, "told")

    def test_quotations_are_not_checked(self):
        self.assert_passes("a.cc", '// Prints "nobody was\n// told" to stderr.\n')
        self.assert_passes("a.md", "Prints `nobody` as “told”.\n")
        self.assert_passes("a.md", "As follows:\n\n    nobody tells\n\n```\nnobody tells\n```\n")

    def test_identifiers_are_not_checked(self):
        self.assert_passes("a.cc", "// Calls tell() and Book::wish, see who.h and kWho_told.\nint nobody = tell(whom);\n")
        self.assert_passes("a.cc", "constexpr char kQuery[] = R\"(SELECT who FROM told)\";\n")

    def test_users_are_who(self):
        self.assert_passes("a.md", "Users who send reports.\n")
        self.assert_refused("a.md", "The thread who waits.\n", 1, "who")

    def test_folders_are_searched(self):
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root, "part/inner")
            folder.mkdir(parents=True)
            (folder / "a.h").write_text("// Told.\n", encoding="utf-8")
            (folder / "a.json").write_text('"told"\n', encoding="utf-8")
            result = subprocess.run([sys.executable, SCRIPT, "--root", root], capture_output=True, encoding="utf-8")
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout.count("\n"), 1, result.stdout)
            self.assertTrue(result.stdout.startswith("part/inner/a.h:1: "), result.stdout)


if __name__ == "__main__":
    unittest.main()
