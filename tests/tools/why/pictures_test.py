#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pictures_test.py ROOT BIN: scripts/pictures draws what real commands print, and documents show all of it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT, BIN = (pathlib.Path(argument) for argument in sys.argv[1:3])


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.work.cleanup)
        cls.folder = pathlib.Path(cls.work.name)
        subprocess.run([ROOT / "scripts/pictures", "--bin", BIN, cls.folder], check=True, stdout=subprocess.DEVNULL)

    def text_of(self, name):
        return " ".join(element.text for element in ElementTree.parse(self.folder / name).iter("{http://www.w3.org/2000/svg}text"))

    def test_they_show_the_deadlock(self):
        self.assertIn("does not respond", self.text_of("why.svg"))
        self.assertIn("a deadlock, which never ends by itself", self.text_of("why.svg"))
        self.assertIn("Ledger::Transfer", self.text_of("terminal-report.svg"))
        self.assertIn("deadlock", self.text_of("terminal-reports.svg"))

    def test_they_show_the_causes_of_two_versions(self):
        for function in ("price_of", "render_cart", "await_stock"):
            self.assertIn(function, self.text_of("terminal-clusters.svg"))
        self.assertIn("2.3.0 S/H", self.text_of("terminal-compare.svg"))
        self.assertIn("has not responded for", self.text_of("terminal-log.svg"))
        self.assertIn("await_stock", self.text_of("terminal-log.svg"))
        self.assertIn("A wider terminal", self.text_of("terminal-narrow.svg"))

    def test_they_say_nothing_of_this_machine(self):
        for picture in self.folder.iterdir():
            self.assertNotIn(str(ROOT), picture.read_text())

    def test_documents_show_each_of_them(self):
        documents = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
        for picture in self.folder.iterdir():
            self.assertTrue((ROOT / "docs/pictures" / picture.name).exists(), picture.name)
            self.assertIn(f"pictures/{picture.name}", documents)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
