# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md: each runs, and is reported as it says."""
import os
import pathlib
import re
import unittest

from programs import Program


@unittest.skipUnless("LAGWATCH_PAGE" in os.environ, "the page is not here")
class Page(unittest.TestCase):
    def test_examples(self):
        page = pathlib.Path(os.environ["LAGWATCH_PAGE"]).read_text()
        examples = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(examples), 3)
        for example in examples:
            with self.subTest(example.splitlines()[3]), Program() as program:
                program.run(example, start="")
                self.assertEqual([tag for tag, _ in program.hangs()], re.findall(r'reported as "(.*)"', example))


if __name__ == "__main__":
    unittest.main()
