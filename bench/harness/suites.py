#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suites of bench/, for scripts/bench: all that it knows of one is in the suite's own file.

A suite is bench/NAME_bench.cc, whose first comment describes it, or a script bench/DIRECTORY/NAME.py with a list TARGETS of
what it needs built. Its docstring describes it; PACKAGES are Debian's that it uses, ARGUMENTS those that `scripts/bench` adds.

  suites.py help          describes all suites
  suites.py plan NAME     prints three lines: the packages, the targets to build in the preset release, the command
"""
import ast
import importlib.util
import pathlib
import re
import shlex
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]


def is_script(path):
    return re.search(r"^TARGETS = ", path.read_text(), re.MULTILINE)


def suites():
    """{name: file} of all suites."""
    programs = {path.name.removesuffix("_bench.cc"): path for path in BENCH.glob("*_bench.cc") if path.stem != "query_clickhouse_bench"}
    return dict(sorted((programs | {path.stem: path for path in BENCH.glob("*/*.py") if is_script(path)}).items()))


def description(path):
    text = path.read_text()
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text))
    comment = re.match(r"// SPDX.*\n((?://.*\n)+)", text)[1]
    return re.sub(r"^// ?", "", comment, flags=re.MULTILINE).rstrip()


def described():
    for name, path in suites().items():
        yield name + "\n" + re.sub(r"^(?=.)", "    ", description(path), flags=re.MULTILINE)


def plan(path):
    if path.suffix == ".cc":
        target = path.name.removesuffix("_bench.cc")
        return [[], [f"bench_{target}"], [f"build/release/bin/bench_{target}"]]
    sys.path[:0] = [str(path.parent), str(BENCH)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = getattr(module, "ARGUMENTS", [])
    return [getattr(module, "PACKAGES", []), module.TARGETS, ["python3", str(path.relative_to(BENCH.parent)), *arguments]]


def main(arguments):
    if arguments[:1] == ["help"]:
        print("\n\n".join(described()))
        return 0
    known = suites()
    if len(arguments) != 2 or arguments[1] not in known:
        print(f"bench: no suite '{' '.join(arguments[1:])}'; there are: {' '.join(known)}", file=sys.stderr)
        return 2
    print("\n".join(shlex.join(words) for words in plan(known[arguments[1]])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
