#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/affected.py selects what a change can break, in a small tree made for it.

Usage: affected_test.py BUILD_TREE
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))
import affected  # noqa: E402
from check_layers import LAYERS  # noqa: E402

# A file of each kind.
TREE = {
    ".gitignore": "/build/\n/called\n__pycache__/\n",
    "CMakeLists.txt": "",
    "CMakePresets.json": "",
    "README.md": "",
    "base/CMakeLists.txt": "",
    "base/status.h": "",
    "bench/spool_bench.cc": "",
    "cmake/Install.cmake": "",
    "collector/CMakeLists.txt": "",
    "collector/main.cc": "",
    "collector/web/CMakeLists.txt": "",
    "collector/web/src/page.tsx": "",
    "docs/hosts.md": "",
    "docs/report_format.md": "",
    "policies/CMakeLists.txt": "",
    "policies/hang.h": '#include "policies/kinds.h"\n',
    "policies/kinds.cc": '#include "policies/kinds.h"\n#include "policies/kind_names.h"\n',
    "policies/kind_names.h": "",
    "policies/kinds.h": "",
    "policies/hang_parts.h": "",
    "policies/verdict.cc": "",
    "report/CMakeLists.txt": "",
    "report/format/report.proto": "",
    "samples/hello.cc": "",
    "scripts/demo": "",
    "scripts/lib.sh": "",
    "sdk/CMakeLists.txt": "",
    "sdk/android/src/main/cpp/CMakeLists.txt": "",
    "sdk/android/src/main/cpp/calls.cc": "",
    "stack/CMakeLists.txt": "",
    "stack/frames/frame.h": "",
    "stack/signal/handler.cc": "",
    "tests/CMakeLists.txt": "",
    "tests/collector/CMakeLists.txt": "",
    "tests/collector/http/server_test.cc": '#include "tests/report/records.h"\n',
    "tests/collector/web/page.test.mjs": "",
    "tests/darwin/watch_once.cc": "",
    "tests/meta/CMakeLists.txt": "",
    "tests/report/CMakeLists.txt": 'PAGE="${PROJECT_SOURCE_DIR}/docs/report_format.md"\n',
    "tests/report/records.h": "",
    "tests/stack/CMakeLists.txt": "",
    "tests/stack/frame_test.cc": "",
    "tests/testing/CMakeLists.txt": "",
    "tests/testing/stalls.cc": "",
    "tools/read/read.cc": "",
    "trace/hooks/hooks.cc": "",
    "watchdog/watchdog.cc": "",
}
ALL_STAGES = set(affected.STAGES)


def write(root, path, content):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")


class InTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.root = pathlib.Path(directory.name)
        for path, content in TREE.items():
            write(cls.root, path, content)


class StagesTest(InTree):
    def stages(self, *changed):
        """Of each stage that runs after a change of the files: its parts, or None if it is run as a whole."""
        stages = affected.select_stages(self.root, list(changed))[1]
        return {stage: parts for stage, parts in stages.items() if parts != []}

    def test_a_layer_selects_all_layers_that_may_include_it(self):
        stages = self.stages("policies/verdict.cc")
        users = {layer for layer, places in LAYERS.items() if "policies" in places}
        self.assertLess({"watchdog", "report/upload", "sdk", "collector", "tools"}, users)
        for stage in ("asan-ubsan", "tsan"):
            self.assertLessEqual(users | {"policies"}, set(stages[stage]))
            self.assertFalse({"base", "stack", "trace", "sdk/include"} & set(stages[stage]))
        self.assertEqual(set(stages), ALL_STAGES - {"arm64", "packages"})

    def test_the_lowest_layer_selects_all_that_are_above_it(self):
        stages = self.stages("base/status.h")
        self.assertEqual(set(stages["tsan"]), {"base"} | {layer for layer, places in LAYERS.items() if "base" in places})
        self.assertEqual(set(stages), ALL_STAGES - {"packages"})

    def test_a_layer_that_uses_one_file_depends_on_what_is_behind_that_file(self):
        for path in ("policies/hang.h", "policies/kinds.h", "policies/kinds.cc", "policies/kind_names.h"):
            self.assertLess({"policies", "stack", "trace"}, set(self.stages(path)["tsan"]), path)

    def test_the_highest_layer_selects_itself(self):
        self.assertEqual(self.stages("tools/read/read.cc"),
                         {"asan-ubsan": ["tools"], "tsan": ["tools"], "docs": None, "demo": None})

    def test_a_layers_own_cmake_is_a_part_of_it(self):
        self.assertEqual(set(self.stages("collector/CMakeLists.txt")["asan-ubsan"]), {"collector", "tools"})
        reports = {layer for layer in LAYERS if layer.startswith("report/")}
        self.assertLess(reports | {"collector", "sdk"}, set(self.stages("report/CMakeLists.txt")["asan-ubsan"]))

    def test_the_packages_are_tested_when_what_makes_them_changes(self):
        self.assertEqual(self.stages("tests/packages/machine.py", "scripts/debs"), {"packages": None})
        self.assertEqual(self.stages("packaging/debian/control"), {"docs": None, "packages": None})

    def test_the_page_is_tested_by_quick_and_the_demo(self):
        self.assertEqual(self.stages("collector/web/src/page.tsx", "tests/collector/web/page.test.mjs"), {"demo": None})

    def test_the_pages_library_is_a_part_of_the_collector(self):
        self.assertIn("collector", self.stages("collector/web/CMakeLists.txt")["tsan"])

    def test_documents_run_docs(self):
        self.assertEqual(self.stages("docs/hosts.md", "README.md"), {"docs": None})

    def test_a_document_selects_the_tests_that_read_it(self):
        stages = self.stages("docs/report_format.md")
        self.assertEqual(set(stages), {"asan-ubsan", "tsan", "docs"})
        self.assertIn("tests/report", stages["asan-ubsan"])

    def test_tests_select_themselves_and_those_that_include_them(self):
        self.assertEqual(self.stages("tests/stack/frame_test.cc"),
                         {"asan-ubsan": ["tests/stack"], "tsan": ["tests/stack"], "arm64": None})
        self.assertEqual(self.stages("tests/report/records.h")["tsan"], ["tests/report", "tests/collector"])

    def test_the_port_runs_the_cross_build(self):
        self.assertEqual(self.stages("tests/darwin/watch_once.cc"), {"darwin": None})

    def test_what_only_quick_uses_runs_nothing_else(self):
        self.assertEqual(self.stages("bench/spool_bench.cc", "tests/meta/CMakeLists.txt"), {})

    def test_a_file_that_is_gone_belongs_to_its_layer(self):
        self.assertIn("watchdog", self.stages("watchdog/gone.cc")["tsan"])

    def test_the_build_itself_selects_everything(self):
        for path in ("CMakeLists.txt", "CMakePresets.json", "cmake/Install.cmake", "scripts/lib.sh", "scripts/bootstrap", ".ci/run",
                     "tests/CMakeLists.txt", "tests/testing/stalls.cc", "tools/check_layers.py"):
            with self.assertRaisesRegex(affected.Everything, path + " has changed"):
                self.stages("docs/hosts.md", path)

    def test_files_of_an_unknown_kind_select_everything(self):
        for path in ("new_folder/file.cc", "tests/loose.txt", "loose.txt"):
            with self.assertRaisesRegex(affected.Everything, path + " has changed"):
                self.stages("docs/hosts.md", path)


class TestsTest(InTree):
    TABLE = ("stack stack_tests tests/stack,stack,tests/testing\n"
             "report report_tests tests/report,report\n"
             "faults fault_suite,helper tests/faults,report,collector\n"
             "android android_tests tests/android,sdk/android/src/main/cpp\n"
             "sdk sdk_tests tests/sdk,sdk\n")

    def select(self, *parts):
        return affected.select_tests(self.root, self.TABLE, parts)

    def test_programs_of_the_parts_are_built_and_other_tests_excluded(self):
        programs, others = self.select("stack/signal")
        self.assertEqual(programs, ["stack_tests"])
        for name in ("report.A.B", "faults", "faults.part1", "report_tests_NOT_BUILT"):
            self.assertRegex(name, others)
        # `unlisted` has no row.
        for name in ("stack.A.B", "stack_tests_NOT_BUILT", "unlisted.A.B", "reports.A.B"):
            self.assertNotRegex(name, others)

    def test_a_test_is_selected_by_all_that_it_uses(self):
        self.assertEqual(self.select("report/format")[0], ["report_tests", "fault_suite", "helper"])
        self.assertEqual(self.select("collector")[0], ["fault_suite", "helper"])
        self.assertEqual(self.select("tests/stack", "tests/report")[0], ["stack_tests", "report_tests"])
        self.assertEqual(self.select("sdk/android")[0], ["android_tests"])

    def test_nothing_is_excluded_if_all_are_selected(self):
        self.assertEqual(self.select("stack", "report", "sdk")[1], "")

    def test_nothing_is_built_for_parts_without_tests(self):
        self.assertEqual(self.select("samples")[0], [])

    def test_a_part_that_is_not_there_is_an_error(self):
        command = [sys.executable, affected.__file__, "--root", self.root, "tests", self.root, "stack,stak"]
        failed = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(failed.returncode, 2)
        self.assertIn("no layer and no folder 'stak'", failed.stderr)


class ThisRepositoryTest(unittest.TestCase):
    def test_every_file_belongs_to_a_part(self):
        try:
            files = affected.git(REPOSITORY, "ls-files", "-z").split("\0")[:-1]
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("not a clone")
        for path in files:
            if not affected.any_in(path, affected.EVERYTHING):
                affected.parts_of(REPOSITORY, path)

    def test_named_files_exist(self):
        for path in [*affected.EVERYTHING, *affected.QUICK_ONLY, *sum(affected.OTHER_PARTS.values(), [])]:
            self.assertTrue((REPOSITORY / path).exists(), path)

    def test_each_layer_has_tests_in_the_table(self):
        table = (BUILD_TREE / "test_table.txt").read_text(encoding="utf-8")
        for line in table.splitlines():
            for folder in line.split()[2].split(","):
                self.assertTrue((REPOSITORY / folder).is_dir(), line)
        for layer in ("base", "stack", "trace", "watchdog", "report/format", "sdk", "collector", "tools"):
            self.assertTrue(affected.select_tests(REPOSITORY, table, [layer])[0], layer)


if __name__ == "__main__":
    BUILD_TREE = pathlib.Path(sys.argv.pop(1))
    unittest.main()
