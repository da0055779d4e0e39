#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/affected.py and .ci/run select what a change can break, in small repositories made for it.

Usage: affected_test.py BUILD_TREE
"""

import os
import pathlib
import shutil
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
    ".gitignore": "__pycache__/\n",
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
# A hook of git runs with variables that name its repository, which these tests must not change.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=ENVIRONMENT).stdout


def git(root, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    return run("git", "-C", root, *identity, *arguments)


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
        self.assertEqual(set(stages), ALL_STAGES - {"arm64"})

    def test_the_lowest_layer_selects_all_that_are_above_it(self):
        stages = self.stages("base/status.h")
        self.assertEqual(set(stages["tsan"]), {"base"} | {layer for layer, places in LAYERS.items() if "base" in places})
        self.assertEqual(set(stages), ALL_STAGES)

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


class GateTest(InTree):
    """.ci/run --list in a repository, whose first commit is the verified one."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for path in (".ci/run", ".ci/stages.sh", "tools/affected.py", "tools/check_layers.py"):
            (cls.root / path).parent.mkdir(exist_ok=True)
            shutil.copy(REPOSITORY / path, cls.root / path)
        git(cls.root, "init", "--quiet")
        git(cls.root, "add", "--all")
        git(cls.root, "commit", "--quiet", "--message", "all")
        cls.commit = git(cls.root, "rev-parse", "HEAD").strip()

    def setUp(self):
        git(self.root, "reset", "--quiet", "--hard", self.commit)
        git(self.root, "clean", "--quiet", "-fd")
        write(self.root, ".ci/verified", self.commit + "\n")

    def gate(self, *arguments, root=None):
        return run((root or self.root) / ".ci/run", "--list", *arguments)

    def assert_everything(self, listed, saying):
        self.assertIn(saying, listed)
        self.assertEqual(listed.count("  runs: "), 1 + len(ALL_STAGES))
        self.assertNotIn("left to", listed)

    def test_without_a_change_only_quick_runs(self):
        listed = self.gate()
        self.assertIn(self.commit, listed)
        self.assertEqual(listed.count("  runs: "), 1)
        self.assertEqual(listed.count("left to that verification: "), len(ALL_STAGES))

    def test_committed_removed_and_new_files_count(self):
        write(self.root, "tools/read/read.cc", "changed\n")
        git(self.root, "commit", "--quiet", "--all", "--message", "change")
        git(self.root, "mv", "samples/hello.cc", "trace/hello.cc")
        (self.root / "collector/main.cc").unlink()
        write(self.root, "tests/stack/new_test.cc", "")
        listed = self.gate()
        self.assertIn("runs: tests\n", listed)
        self.assertIn("runs: tests, thread sanitizer, of these parts only: collector samples tests/stack tools trace sdk watchdog\n", listed)

    def test_all_runs_whatever_has_changed(self):
        self.assert_everything(self.gate("--all"), "--all")

    def test_an_unknown_commit_selects_everything(self):
        write(self.root, ".ci/verified", "1" * 40 + "\n")
        self.assert_everything(self.gate(), "is not in this clone")
        write(self.root, ".ci/verified", "\n")
        self.assert_everything(self.gate(), ".ci/verified is missing")
        (self.root / ".ci/verified").unlink()
        self.assert_everything(self.gate(), ".ci/verified is missing")

    def test_a_shallow_clone_runs_everything(self):
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", "verified")
        with tempfile.TemporaryDirectory() as clone:
            git(self.root, "clone", "--quiet", "--depth", "1", self.root.as_uri(), clone)
            self.assert_everything(self.gate(root=pathlib.Path(clone)), "is not in this clone")


class ThisRepositoryTest(unittest.TestCase):
    def test_every_file_belongs_to_a_part(self):
        try:
            files = git(REPOSITORY, "ls-files", "-z").split("\0")[:-1]
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
