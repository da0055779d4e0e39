#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a call of the preloaded library could reach a function that the program defines.

A program is built that defines every name in the library's symbol table; none of the library's import slots may lead
into it. The library may also call no function that returns memory for free(3), which is of the program's heap, and none
that allocates there for longer.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ALLOCATING = {"strdup", "strndup", "asprintf", "vasprintf", "getline", "getdelim", "realpath", "canonicalize_file_name",
              "get_current_dir_name", "open_memstream", "scandir", "tempnam", "backtrace_symbols", "getcwd"}
VARIABLES = {"environ", "__environ", "stderr", "__libc_single_threaded", "__libc_stack_end"}
# The host's own work: the C library's own allocations are made there.
WORKING = {"malloc", "calloc", "realloc", "free"}
OWN = WORKING | {"aligned_alloc", "posix_memalign", "__tls_get_addr", "gettext", "strerror", "opendir", "fdopendir"}


def output(*command, env=None):
    return subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", env=env, check=False)


def main():
    nm, compiler, host, library = sys.argv[1:]
    rows = [line.split() for line in output(nm, "--dynamic", library).stdout.splitlines()]
    names = {re.sub("@.*", "", row[-1]) for row in rows}
    if not {"read", "pthread_create", "syscall"} <= names:
        return f"{library}: no imports found"
    if names & ALLOCATING:
        return f"these return memory of the program's heap: {sorted(names & ALLOCATING)}"
    if names & OWN:
        return f"the library has definitions of its own for these: {sorted(names & OWN)}"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "host")
        kinds = [("VARIABLE" if name in VARIABLES else "FUNCTION", name) for name in sorted(names - WORKING)]
        pathlib.Path(folder, "names.h").write_text("".join(f"{kind}({name})\n" for kind, name in kinds))
        subprocess.run([compiler, "-O1", "-fPIE", "-pie", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-rdynamic",
                        f"-I{folder}", host, "-o", program], check=True)
        # The lazy way of the loader is the usual one; it must make no difference.
        for environment in ({}, {"LD_BIND_NOW": "1"}):
            ended = output(program, env={"LD_PRELOAD": library, **environment})
            if ended.returncode != 0 or ended.stdout:
                return f"exit code {ended.returncode}, bound to the program's definitions: {ended.stdout.split()}"
    print(f"{len(names)} names, none of which the program can define for the library")
    return 0


sys.exit(main())
