#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/loops.md compile, each as the body of a program's main().

Usage: docs_loops_test.py REPOSITORY C_COMPILER CPP_COMPILER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# The module of pkg-config that has a header.
MODULES = {"gtk/gtk.h": "gtk+-3.0", "QApplication": "Qt5Widgets", "QQuickView": "Qt5Quick", "lagwatch/adapters/libuv.h": "libuv", "uv.h": "libuv",
           "lagwatch/adapters/libevent.h": "libevent", "lagwatch/adapters/sd_event.h": "libsystemd", "SDL2/SDL.h": "sdl2"}


def check(repository, compilers, include, language, block):
    lines = block.splitlines()
    head = [line for line in lines if line.startswith("#")]
    body = "\n".join(line for line in lines if not line.startswith("#"))
    source = "\n".join(head) + f"\nint main(int argc, char** argv) {{\n(void)argc, (void)argv;\n{body}\nreturn 0;\n}}\n"
    flags = []
    for header, module in MODULES.items():
        if f"<{header}>" in source:
            flags += subprocess.run(["pkg-config", "--cflags", module], text=True, capture_output=True, check=True).stdout.split()
    standard = "-std=gnu11" if language == "c" else "-std=gnu++17"
    command = [compilers[language], "-x", "c" if language == "c" else "c++", standard, "-fsyntax-only", "-fPIC", "-Wall", "-Wextra",
               "-Werror", f"-I{include}", f"-I{repository}/sdk/include", *flags, "-"]
    subprocess.run(command, input=source, text=True, check=True)


def main():
    repository = pathlib.Path(sys.argv[1])
    compilers = {"c": sys.argv[2], "cpp": sys.argv[3]}
    blocks = re.findall(r"^```(c|cpp)\n(.*?)^```$", (repository / "docs/loops.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10, f"{len(blocks)} examples"
    adapters = {path.name for path in (repository / "sdk/adapters").glob("*.h")}
    used = {name for _, block in blocks for name in re.findall(r"<lagwatch/adapters/(\w+\.h)>", block)} | {"epoll.h"}
    assert adapters == used, f"no example: {adapters - used}; no such header: {used - adapters}"
    with tempfile.TemporaryDirectory() as include:
        (pathlib.Path(include) / "lagwatch").mkdir()
        (pathlib.Path(include) / "lagwatch/adapters").symlink_to(repository / "sdk/adapters")
        for language, block in blocks:
            check(repository, compilers, include, language, block)
            if language == "c" and "gtk.h" not in block:  # of C++ programs, too
                check(repository, {"cpp": compilers["cpp"]}, include, "cpp", block.replace("{0}", "{}"))


if __name__ == "__main__":
    main()
