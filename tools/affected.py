#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selects what a change can break: the stages of the gate (.ci/run), and the tests of a build tree (scripts/test --parts).

A part is a layer of tools/check_layers.py, a folder of tests, or one of OTHER_PARTS. A change selects the parts that it
lies in and the parts that depend on them. When in doubt it selects everything.
"""

import argparse
import functools
import pathlib
import posixpath
import re
import subprocess
import sys

import check_layers
from check_layers import LAYERS, is_in, layer_of

# Files that all tests, or the selection itself, are made with.
EVERYTHING = [".ci", "CMakeLists.txt", "CMakePresets.json", "cmake", "scripts/bootstrap", "scripts/lib.sh", "scripts/test",
              "tests/CMakeLists.txt", "tests/testing", "tests/tsan_suppressions.txt", "tools/affected.py",
              "tools/check_layers.py"]
# Files that belong to no layer and no folder of tests, and some that do, besides.
OTHER_PARTS = {
    # The input of scripts/docs; all *.md and *.proto belong to it, too.
    "docs": ["LICENSE", "collector/openapi.json", "docs", "mkdocs.yml", "packaging", "policies/cluster_rules", "samples",
             "scripts/docs", "sdk/include", "tests/collector/web/site"],
    "page": ["collector/web", "docs/glossary.md", "tests/collector/web"],
    "darwin": ["scripts/darwin", "tests/darwin"],
    "demo": ["scripts/check_demo.py", "scripts/demo"],
    "packages": ["packaging", "scripts/debs", "scripts/release", "tests/packages", "tools/service"],
}
# Files that only the stage `quick` uses, which is always run as a whole, or no stage.
QUICK_ONLY = [".clang-format", ".clang-tidy", ".gitignore", ".prettierignore", ".prettierrc.json", "bench", "scripts/android",
              "scripts/bench", "scripts/clickhouse-cluster", "scripts/confidence", "scripts/glibc_names", "scripts/npm-package", "scripts/pictures", "scripts/tarball",
              "scripts/verify", "scripts/wheel",
              "tests/install", "tests/meta"]

# The stages besides `quick`, in their order, and the parts that each tests. Those of PARTIAL test only the parts that a
# change selects; the others are run as a whole.
STAGES = {
    "asan-ubsan": [*LAYERS, "tests"],
    "tsan": [*LAYERS, "tests"],
    "arm64": ["base", "stack", "tests/base", "tests/stack"],
    "docs": ["docs", "collector", "tools"],
    "darwin": ["darwin", "base", "stack", "policies", "trace", "watchdog", "report", "sdk"],
    "demo": ["demo", "page", "collector", "tools", "samples"],
    "packages": ["packages"],
}
PARTIAL = ["asan-ubsan", "tsan"]


class Everything(Exception):
    """Everything must run; the message says why."""


# --- what has changed

def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, encoding="utf-8", check=True).stdout


def verified_commit(root):
    try:
        commit = (root / ".ci/verified").read_text(encoding="utf-8").split()[0]
    except (OSError, IndexError):
        raise Everything("there is no last verification: .ci/verified is missing")
    try:
        git(root, "cat-file", "-e", commit + "^{commit}")
    except (OSError, subprocess.CalledProcessError):
        raise Everything(f"the last verification's commit, {commit}, is not in this clone")
    return commit


def changed_files(root, commit):
    """The files that differ between the commit and the work tree; those that are not in the index count as well."""
    # Without renames: the old name is a change of the folder that it was in.
    output = git(root, "diff", "-z", "--name-only", "--no-renames", commit)
    output += git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return sorted(set(output.split("\0")) - {"", ".ci/verified"})


# --- the parts that it lies in

def any_in(path, places):
    return any(is_in(path, place) for place in places)


def folder_of_tests(root, path):
    """The deepest folder around the file, or that folder of tests itself, that has a CMakeLists.txt."""
    folder = path
    while not (root / folder / "CMakeLists.txt").exists():
        folder = posixpath.dirname(folder)
    return folder


@functools.cache
def cmake_of_tests(root):
    return [(file.parent.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
            for file in (root / "tests").rglob("CMakeLists.txt")]


def folders_naming(root, path):
    """The folders of tests whose CMakeLists.txt names the file, such as a page of docs that a test reads."""
    return {folder for folder, text in cmake_of_tests(root) if f"/{path}\"" in text}


def layers_of(path):
    """The layer of the file; of one that lies above layers, such as report/CMakeLists.txt, all of these."""
    layer = layer_of(path)
    return {layer} if layer else {below for below in LAYERS if is_in(below, posixpath.dirname(path))}


def parts_of(root, path):
    """The parts that a changed file lies in; none if only `quick` uses it."""
    if any_in(path, EVERYTHING):
        raise Everything(f"{path} has changed")
    if any_in(path, QUICK_ONLY):
        return set()
    parts = {part for part, places in OTHER_PARTS.items() if any_in(path, places)}
    if path.endswith((".md", ".proto")):
        parts.add("docs")
    is_code = path.endswith(check_layers.SUFFIXES) or posixpath.basename(path) == "CMakeLists.txt"
    if path.endswith(".md"):
        pass
    elif is_in(path, "tests") and not parts & {"page", "darwin", "packages"}:
        parts.add(folder_of_tests(root, path))
    elif is_code or "page" not in parts:
        parts |= layers_of(path)
    if not parts or "tests" in parts:
        raise Everything(f"{path} has changed, which belongs to no known part")
    return parts | folders_naming(root, path)


# --- the parts that depend on them

def includes_of(root, path):
    for line in (root / path).read_text(encoding="utf-8").splitlines():
        if include := check_layers.INCLUDE.match(line):
            name = include[2]
            yield "sdk/include/" + name if name.startswith("lagwatch/") else name


def files_behind(root, header):
    """The header, the sources of its name, for each system, and all that these include."""
    seen, waiting = set(), [header]
    while waiting:
        path = waiting.pop()
        if path in seen or not (root / path).is_file():
            continue
        seen.add(path)
        stem = re.escape(posixpath.splitext(posixpath.basename(path))[0])
        sources = re.compile(stem + r"(_[a-z0-9_]+)?\.cc")
        waiting += [other.relative_to(root).as_posix() for other in (root / path).parent.glob("*.cc")
                    if path.endswith(".h") and sources.fullmatch(other.name)]
        waiting += includes_of(root, path)
    return seen


def dependent_layers(root, changed):
    """The layers that may include one of the changed files, and then all layers that may include something of these."""
    def uses(layer, path):
        for place in LAYERS[layer]:
            if is_in(path, place):
                return True
            # A layer that may include one file of another depends on what is behind this file only.
            if layer_of(place) == layer_of(path) and (root / place).is_file() and path in files_behind(root, place):
                return True
        return False

    waiting = [layer for layer in LAYERS if any(layer_of(path) != layer and uses(layer, path) for path in changed)]
    waiting += [below for path in changed if layer_of(path) is None for below in layers_of(path)]
    found = set()
    while waiting:
        below = waiting.pop()
        if below not in found:
            found.add(below)
            waiting += [layer for layer, places in LAYERS.items()
                        if any(is_in(below, place) or layer_of(place) == below for place in places)]
    return found


def dependent_tests(root, folders):
    """The folders of tests whose sources include something of the given ones, directly or through others."""
    users = {}
    for file in (root / "tests").rglob("*") if folders else []:
        if file.suffix in (".h", ".cc", ".c"):
            path = file.relative_to(root).as_posix()
            for included in includes_of(root, path):
                if is_in(included, "tests"):
                    users.setdefault(folder_of_tests(root, included), set()).add(folder_of_tests(root, path))
    found, waiting = set(), list(folders)
    while waiting:
        folder = waiting.pop()
        if folder not in found:
            found.add(folder)
            waiting += users.get(folder, ())
    return found


def affected_parts(root, files):
    """The parts that the changed files lie in, and after them the parts that depend on these."""
    direct = set().union(*(parts_of(root, path) for path in files))
    layers = dependent_layers(root, [path for path in files if layers_of(path) & direct])
    tests = dependent_tests(root, [part for part in direct if is_in(part, "tests")])
    return sorted(direct), sorted((layers | tests) - direct)


# --- the stages

def select_stages(root, files):
    """The parts that the changed files lie in, and of each stage the parts that it tests: none if it is left out, None if
    it is run as a whole."""
    direct, dependent = affected_parts(root, files)
    selected = {stage: [part for part in direct + dependent if any_in(part, places)] for stage, places in STAGES.items()}
    return direct, {stage: parts if stage in PARTIAL or not parts else None for stage, parts in selected.items()}


def plan(root):
    """The last verified commit, or None, a sentence that says what has changed since, and the stages."""
    try:
        commit = verified_commit(root)
        files = changed_files(root, commit)
        direct, stages = select_stages(root, files)
    except Everything as everything:
        return None, str(everything), dict.fromkeys(STAGES)
    return commit, f"{len(files)} files differ, in {' '.join(direct) or 'no part that these stages test'}", stages


def print_stages(root, is_all):
    commit, why, stages = (None, "--all", dict.fromkeys(STAGES)) if is_all else plan(root)
    print(commit or "-", why, sep="\t")
    for stage, parts in stages.items():
        print(stage, "whole" if parts is None else ",".join(parts) or "-", sep="\t")


# --- the tests of a build tree

def home_of(root, part):
    """The folder whose CMakeLists.txt makes the part's targets, as the table of tests has it."""
    has_own = next((root / part).rglob("CMakeLists.txt"), None)
    return part if has_own else folder_of_tests(root, part)


def select_tests(root, table, parts):
    """The programs of the tests that use one of the parts, and a regular expression that matches all other tests.

    table: lines "NAME PROGRAM,… FOLDER,…", written by cmake/TestTable.cmake
    """
    homes = [home_of(root, part) for part in parts]
    programs, others = [], []
    for name, its_programs, folders in (line.split() for line in table.splitlines()):
        if any(any_in(folder, homes) for folder in folders.split(",")):
            programs += its_programs.split(",")
        else:
            others.append(name)
    # ctest has a test for each program that is not built. A test without a row in the table is run, and fails.
    return programs, rf"^({'|'.join(others)})(\.|$|_tests_NOT_BUILT$)" if others else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the repository (default: the one this script is in)")
    commands = parser.add_subparsers(dest="command", required=True)
    stages = commands.add_parser("stages", help="the verified commit and what has changed since; then, a line each, the "
                                                "stages besides quick with their parts: some, `whole` or `-`")
    stages.add_argument("--all", action="store_true", help="whatever has changed")
    tests = commands.add_parser("tests", help="two lines: the programs to build, and a regular expression of other tests")
    tests.add_argument("tree", type=pathlib.Path, help="a build tree that is configured")
    tests.add_argument("parts", help="with commas between them")
    arguments = parser.parse_args()
    if arguments.command == "stages":
        print_stages(arguments.root, arguments.all)
        return
    parts = arguments.parts.split(",")
    for part in parts:
        if part not in LAYERS and not (arguments.root / part).is_dir():
            parser.error(f"no layer and no folder '{part}': for example stack, trace/model, tests/report")
    table = (arguments.tree / "test_table.txt").read_text(encoding="utf-8")
    programs, others = select_tests(arguments.root, table, parts)
    print(" ".join(programs))
    print(others)


if __name__ == "__main__":
    main()
