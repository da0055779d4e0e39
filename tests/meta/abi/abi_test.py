#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the C ABI with that of the last release (docs/compatibility.md), and shows that the comparison finds changes.

The ABI is what lagwatch/c.h says: its functions, with empty bodies, are compiled into a library, whose types abidiff compares
with the stored ones. The names that the real library exports are compared with c.h by meta.exports.

Usage: abi_test.py COMPILER INCLUDE_FOLDER STORED_ABI [--store]
  --store  after a release: writes STORED_ABI
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# Structs have their size in them, so that they can grow at their end; functions may be added.
GROWTH = """[suppress_type]
  type_kind = struct
  has_data_member_inserted_at = end
"""
# Of a copy of the headers: what is changed, and whether programs that were built before still work.
CHANGES = [
    ("c.h", "LW_API int lw_trace_now(void) LW_NOEXCEPT;", "", False),
    ("c.h", "LW_API int lw_trace_now(void) LW_NOEXCEPT;", "LW_API int lw_trace_now(int now) LW_NOEXCEPT;", False),
    ("c.h", "LW_API int lw_trace_now(void) LW_NOEXCEPT;",
     "LW_API int lw_trace_now(void) LW_NOEXCEPT;\nLW_API int lw_new(void) LW_NOEXCEPT;", True),
    ("c_options.h", "  const char* app;", "  const char* new_member;\n  const char* app;", False),
    ("c_types.h", "LW_NETWORK_NONE = 2", "LW_NETWORK_NONE = 3", False),
    ("c_types.h", "LW_NETWORK_NONE = 2", "LW_NETWORK_NONE = 2, LW_NETWORK_NEW = 3", True),
    ("c_options.h", "} lw_options;", "  const char* new_member;\n} lw_options;", True),
]


def write_abi(compiler, include, output, work):
    """Writes the types of c.h's functions in abidw's format."""
    header = (include / "lagwatch/c.h").read_text(encoding="utf-8")
    functions = re.findall(r"^LW_API\b[^;{]*\blw_\w+\([^;{]*\) LW_NOEXCEPT;", header, re.MULTILINE)
    assert len(functions) == len(re.findall("^LW_API ", header, re.MULTILINE)), functions
    bodies = [function.replace(" LW_NOEXCEPT;", " { __builtin_trap(); }") for function in functions]
    source = work / "abi.c"
    source.write_text("#include <lagwatch/c.h>\n" + "\n".join(bodies) + "\n", encoding="utf-8")
    library = work / "liblagwatch.so"
    subprocess.run([compiler, "-std=c11", "-g", "-w", "-fPIC", "-shared", f"-I{include}", source, "-o", library,
                    "-Wl,-soname,liblagwatch.so.0"], check=True)
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", output, library],
                   check=True)


def difference(stored, abi, work):
    """Lists the changes that break programs built with the stored ABI: empty without any."""
    growth = work / "growth"
    growth.write_text(GROWTH, encoding="utf-8")
    found = subprocess.run(["abidiff", "--suppressions", growth, "--no-added-syms", stored, abi], capture_output=True,
                           text=True)
    assert found.returncode & 3 == 0, found.stderr
    return found.stdout if found.returncode else ""


def check_changes(compiler, include, work):
    before = work / "before.abi"
    write_abi(compiler, include, before, work)
    for file, old, new, is_compatible in CHANGES:
        changed = work / "changed"
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(include, changed)
        header = changed / "lagwatch" / file
        text = header.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        header.write_text(text.replace(old, new), encoding="utf-8")
        write_abi(compiler, changed, work / "after.abi", work)
        found = difference(before, work / "after.abi", work)
        assert (not found) == is_compatible, f"'{new}' in place of '{old}': {found}"


def main():
    compiler, include, stored = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if not shutil.which("abidiff"):
        print("there is no abidiff (abigail-tools)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if "--store" in sys.argv:
            write_abi(compiler, include, stored, work)
            return 0
        abi = work / "now.abi"
        write_abi(compiler, include, abi, work)
        if found := difference(stored, abi, work):
            return f"programs that were built with the last release would break:\n{found}"
        check_changes(compiler, include, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
