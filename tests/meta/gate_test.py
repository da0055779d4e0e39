#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
""".ci/run runs what a change can break, and scripts/verify all, in a small repository whose other scripts only note their
calls."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import affected_test
from affected_test import write

# A hook of git runs with variables that name its repository, which these tests must not change.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=ENVIRONMENT).stdout


def git(root, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    return run("git", "-C", root, *identity, *arguments)


class GateTest(affected_test.InTree):
    """A repository whose first commit is the verified one."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for path in (".ci/run", ".ci/stages.sh", "scripts/verify", "tools/affected.py", "tools/check_layers.py"):
            (cls.root / path).parent.mkdir(exist_ok=True)
            shutil.copy(affected_test.REPOSITORY / path, cls.root / path)
        git(cls.root, "init", "--quiet")
        git(cls.root, "add", "--all")
        git(cls.root, "commit", "--quiet", "--message", "all")
        cls.commit = git(cls.root, "rev-parse", "HEAD").strip()

    def setUp(self):
        git(self.root, "reset", "--quiet", "--hard", self.commit)
        git(self.root, "clean", "--quiet", "-fdx")
        write(self.root, ".ci/verified", self.commit + "\n")

    def gate(self, *arguments, root=None):
        return run((root or self.root) / ".ci/run", "--list", *arguments)

    def assert_everything(self, listed, saying):
        self.assertIn(saying, listed)
        self.assertEqual(listed.count("  runs: "), 1 + len(affected_test.ALL_STAGES))
        self.assertNotIn("left to", listed)

    def test_without_a_change_only_quick_runs(self):
        listed = self.gate()
        self.assertIn(self.commit, listed)
        self.assertEqual(listed.count("  runs: "), 1)
        self.assertEqual(listed.count("left to that verification: "), len(affected_test.ALL_STAGES))

    def test_committed_removed_and_new_files_count(self):
        write(self.root, "tools/read/read.cc", "changed\n")
        git(self.root, "commit", "--quiet", "--all", "--message", "change")
        git(self.root, "mv", "samples/hello.cc", "trace/hello.cc")
        (self.root / "collector/main.cc").unlink()
        write(self.root, "tests/stack/new_test.cc", "")
        listed = self.gate()
        self.assertIn("runs: tests\n", listed)
        self.assertIn("runs: tests, thread sanitizer, of these parts only: collector samples tests/stack tools trace sdk sdk/jvm watchdog\n", listed)

    def test_all_runs_whatever_has_changed(self):
        self.assert_everything(self.gate("--all"), "--all")

    def note_scripts_calls(self):
        """Puts scripts in the place of the real ones that note how they are called, and do nothing else."""
        note = '#!/bin/sh\necho "$(basename $0) $*" >>called\n'
        for script in ("docs", "darwin", "demo"):
            write(self.root, "scripts/" + script, note)
        write(self.root, "scripts/test", note + 'case "$*" in *"$FAILING"*) exit 1 ;; esac\n')
        write(self.root, "scripts/lib.sh", 'build() { echo "build $*" >>called; }\n')
        for script in (self.root / "scripts").iterdir():
            script.chmod(0o755)

    def commit_all(self):
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", "change")
        return git(self.root, "rev-parse", "HEAD")

    def run_stages(self, *arguments, program=".ci/run", failing="nothing"):
        """Its exit code and output, and the calls of the scripts, some of which are made at the same time."""
        gate = subprocess.run([self.root / program, *arguments], capture_output=True, encoding="utf-8",
                              env={**ENVIRONMENT, "FAILING": failing})
        calls = (self.root / "called").read_text(encoding="utf-8").splitlines()
        (self.root / "called").unlink()
        return gate.returncode, gate.stdout + gate.stderr, [re.sub(r" --repeat .*", "", call) for call in calls]

    def test_everything_runs_in_order(self):
        self.note_scripts_calls()
        code, output, calls = self.run_stages("--all")
        self.assertEqual(code, 0, output)
        self.assertEqual(sorted(calls), sorted([
            "test --preset quick", "build asan-ubsan", "build tsan", "test --preset asan-ubsan", "darwin ", "test --arm64 -N",
            "test --preset tsan", "test --arm64", "docs --test", "darwin ", "demo --ci --pictures build/pictures/people", "test --packages"]))
        titles = re.findall(r"^== (.*)$", output, re.MULTILINE)
        self.assertEqual(titles[:-1], [line[10:] for line in re.findall(r"^ +\d+ s  .*$", output, re.MULTILINE)])
        self.assertEqual(len(titles), 1 + len(affected_test.ALL_STAGES) + 1)

    def test_the_parts_are_handed_down(self):
        self.note_scripts_calls()
        write(self.root, ".ci/verified", self.commit_all())
        write(self.root, "tools/read/read.cc", "changed\n")
        code, output, calls = self.run_stages()
        self.assertEqual(code, 0, output)
        self.assertEqual(sorted(calls), sorted([
            "test --preset quick", "test --preset asan-ubsan --parts tools -N", "test --preset asan-ubsan --parts tools",
            "test --preset tsan --parts tools -N", "test --preset tsan --parts tools", "docs --test",
            "demo --ci --pictures build/pictures/people"]))
        self.assertIn("\n  ran: docs\n", output)
        self.assertIn("\n  left to that verification: the core for macOS, cross-built\n", output)

    def test_a_verification_goes_on_where_it_failed(self):
        self.note_scripts_calls()
        (self.root / ".ci/verified").unlink()
        commit = self.commit_all()
        code, _, calls = self.run_stages(program="scripts/verify", failing="--preset release")
        self.assertEqual(code, 1)
        self.assertIn("test --preset dev", calls)
        self.assertFalse((self.root / ".ci/verified").exists())
        code, output, calls = self.run_stages(program="scripts/verify")
        self.assertEqual(code, 0, output)
        self.assertEqual(calls, ["test --preset release", "test --fuzz 60", "demo "])
        self.assertEqual((self.root / ".ci/verified").read_text(encoding="utf-8"), commit.strip() + " complete\n")
        self.assertEqual(self.gate().count("  runs: "), 1)

    def test_a_verification_of_the_gate_runs_its_stages(self):
        self.note_scripts_calls()
        (self.root / ".ci/verified").unlink()
        commit = self.commit_all()
        code, output, calls = self.run_stages("--gate", program="scripts/verify")
        self.assertEqual(code, 0, output)
        self.assertEqual(calls, ["test --preset quick", "test --preset asan-ubsan", "test --preset tsan", "test --arm64", "docs --test",
                                 "darwin ", "demo --ci --pictures build/pictures/people", "test --packages"])
        self.assertEqual((self.root / ".ci/verified").read_text(encoding="utf-8"), commit.strip() + " gate\n")
        self.assertEqual(self.gate().count("  runs: "), 1)

    def test_a_verification_is_of_a_commit(self):
        self.note_scripts_calls()
        self.commit_all()
        write(self.root, "tools/read/read.cc", "changed\n")
        verify = subprocess.run([self.root / "scripts/verify"], capture_output=True, encoding="utf-8", env=ENVIRONMENT)
        self.assertEqual(verify.returncode, 1)
        self.assertIn("the work tree has changes", verify.stderr)
        self.assertFalse((self.root / "called").exists())

    # Its build ahead of time fails, too, and is not what ends the run.
    def test_a_failed_stage_ends_it(self):
        self.note_scripts_calls()
        code, output, calls = self.run_stages("--all", failing="--arm64")
        self.assertEqual(code, 1)
        self.assertIn("test --preset tsan", calls)
        self.assertNotIn("docs --test", calls)
        self.assertNotIn("done in", output)

    def test_an_unknown_commit_selects_everything(self):
        write(self.root, ".ci/verified", "1" * 40 + "\n")
        self.assert_everything(self.gate(), "is not in this clone")
        write(self.root, ".ci/verified", "\n")
        self.assert_everything(self.gate(), ".ci/verified is missing")
        (self.root / ".ci/verified").unlink()
        self.assert_everything(self.gate(), ".ci/verified is missing")

    def test_a_shallow_clone_runs_everything(self):
        self.commit_all()
        with tempfile.TemporaryDirectory() as clone:
            git(self.root, "clone", "--quiet", "--depth", "1", self.root.as_uri(), clone)
            self.assert_everything(self.gate(root=pathlib.Path(clone)), "is not in this clone")


if __name__ == "__main__":
    unittest.main()
