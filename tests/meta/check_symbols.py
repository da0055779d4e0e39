#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the symbols of compiled files with the list of those they may have."""

import argparse
import pathlib
import re
import subprocess
import sys


def symbols(nm, files, *options):
    """Names that `nm` lists, but not the names of versions (type A)."""
    listed = subprocess.run([nm, "--format=posix", *options, *files], stdout=subprocess.PIPE, encoding="utf-8")
    if listed.returncode != 0:
        sys.exit(f"{nm} cannot read all of {' '.join(files)}: build them first")
    fields = [line.split() for line in listed.stdout.splitlines() if line and not line.endswith(":")]
    return {name.split("@")[0] for name, kind, *_ in fields if kind != "A"}


def declared(path):
    """The functions that a header, a linker's version script or a plain list names."""
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".h":
            return set(re.findall(r"^LW_API\b.*?\b(lw_\w+)\(", text, re.MULTILINE))
        case ".map":
            return set(re.findall(r"\b(\w+);", text))
        case _:
            return set(re.sub(r"#.*", "", text).split())


def check_needs(args):
    """Checks that all external symbols of objects are on the list."""
    undefined = symbols(args.nm, args.files, "--undefined-only")
    needed = undefined - symbols(args.nm, args.files, "--defined-only")
    return [f"{name} is used, but not listed" for name in sorted(needed - declared(args.list) - set(args.also))]


def check_exports(args):
    """A library exports what is on the list, all of it and nothing else."""
    is_shared = all(".so" in pathlib.Path(file).name for file in args.files)
    exported = symbols(args.nm, args.files, "--dynamic" if is_shared else "--extern-only", "--defined-only")
    listed = declared(args.list) | set(args.also)
    return ([f"{name} is exported, but not listed" for name in sorted(exported - listed)] +
            [f"{name} is listed, but not exported" for name in sorted(listed - exported)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", default="nm", help="the program that lists symbols")
    checks = parser.add_subparsers(required=True, metavar="CHECK")
    for name, check in {"needs": check_needs, "exports": check_exports}.items():
        command = checks.add_parser(name, help=check.__doc__)
        command.set_defaults(check=check)
        command.add_argument("--also", action="append", default=[], help="a name that counts as listed")
        command.add_argument("list", type=pathlib.Path, help="a header, a .map file or a plain list of names")
        command.add_argument("files", nargs="+", help="objects, archives or a shared library")
    args = parser.parse_args()
    problems = args.check(args)
    for problem in problems:
        print(f"{args.list}: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
