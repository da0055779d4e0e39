# SPDX-License-Identifier: Apache-2.0
"""Builds of one hanging program with the sanitizers of several compilers.

`scripts/bench hosts` installs PACKAGES; a compiler that is missing is left out.
"""
import pathlib
import shutil

from harness.processes import compiled

PACKAGES = ["clang-14", "clang-16", "libclang-rt-14-dev", "libclang-rt-16-dev"]

SOURCE = pathlib.Path(__file__).parent / "sanitized_program.c"
GCC = {
    "address": ["-fsanitize=address", "-static-libasan"],
    # Its runtime must be the first library of all: `lagwatch run` refuses it, and says why.
    "shared_address": ["-fsanitize=address"],
    "leak": ["-fsanitize=leak"],
    "thread": ["-fsanitize=thread"],
    "undefined": ["-fsanitize=undefined"],
}
CLANG = {name: ["-fsanitize=" + name] for name in ("address", "leak", "memory", "thread", "undefined")}
COMPILERS = {"gcc": GCC, "gcc-12": GCC, "clang-14": CLANG, "clang-16": CLANG}


def builds():
    """Each build's name, compiler and flags, for compilers that are installed; no compiler twice."""
    seen = set()
    for compiler, sanitizers in COMPILERS.items():
        path = shutil.which(compiler)
        if path is None or pathlib.Path(path).resolve() in seen:
            continue
        seen.add(pathlib.Path(path).resolve())
        for sanitizer, flags in sanitizers.items():
            yield f"sanitized_{compiler}_{sanitizer}", [compiler, *flags]


def build(directory, name, command):
    """The program's path."""
    compiler, *flags = command
    return str(compiled(SOURCE, directory / name, "-fno-omit-frame-pointer", *flags, compiler=compiler))


def is_refused(name):
    return name.endswith("_shared_address")
