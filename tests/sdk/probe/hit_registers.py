#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing that a hit of a probe runs uses a vector or floating-point register, which hold the program's values.

  hit_registers.py LIBRARY

Follows the calls and jumps of the disassembled library from the functions that hits begin with, up to those that keep the
registers. Calls by pointers lead to the functions of ROOTS.
"""
import bisect
import re
import subprocess
import sys

# Each must be there.
ROOTS = [
    r"lagwatch_on_probe_entry", r"lagwatch_on_probe_note", r"lagwatch_on_return",
    r"void lagwatch::sdk::\(anonymous namespace\)::On(Entry|Return|Allocated)<.*",
    r"lagwatch::sdk::\(anonymous namespace\)::On(Note|Locked|Unlock|WaitBegin|WaitEnd|Transferred)\(.*",
    r"lagwatch::sdk::\(anonymous namespace\)::(Read|CaptureStack|CpuTimeNs)\(lagwatch::probe::Hit const&.*",
]
# They keep the registers, or only read them.
KEEPERS = {"lagwatch_call_saved", "lagwatch_call_baseline", "lagwatch_call_with_floats", "lagwatch_store_vector_args",
           "lagwatch_store_vector_results"}
FORBIDDEN = re.compile(r"%[xyz]mm|%st\b|%mm\d|%k[0-7]\b|\b(ldmxcsr|vzero\w+|emms|f(ld|st|ild|ist)\w*)\b")
FUNCTION = re.compile(r"^([0-9a-f]+) <(.*)>:$")
LEADS_TO = re.compile(r"\s(?:call|j\w+)\s+([0-9a-f]+) <")


def functions(library):
    """Yields (address, name, [instruction])."""
    text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", library], capture_output=True, text=True, check=True).stdout
    address, name, lines = 0, None, []
    for line in text.splitlines():
        begin = FUNCTION.match(line)
        if begin:
            if name is not None:
                yield address, name, lines
            address, name, lines = int(begin[1], 16), begin[2], []
        elif line.startswith(" "):
            lines.append(line)
    if name is not None:
        yield address, name, lines


def main(library):
    code = sorted(functions(library))
    starts = [address for address, _, _ in code]
    roots = [i for i, (_, name, _) in enumerate(code) if any(re.fullmatch(root, name) for root in ROOTS)]
    errors = [f"no function is {root}" for root in ROOTS if not any(re.fullmatch(root, code[i][1]) for i in roots)]
    waiting = [(i, None) for i in roots]
    came_from = {}
    while waiting:
        at, caller = waiting.pop()
        if at in came_from or code[at][1] in KEEPERS:
            continue
        came_from[at] = caller
        _, name, lines = code[at]
        if name.endswith("@plt"):
            errors.append(f"{code[caller][1]} calls {name}")
            continue
        errors += [f"{name}: {line.strip()}" for line in lines if FORBIDDEN.search(line)][:3]
        for line in lines:
            if target := LEADS_TO.search(line):
                waiting.append((bisect.bisect_right(starts, int(target[1], 16)) - 1, at))
    reached = {code[i][1] for i in came_from}
    if not any(name.startswith("lagwatch::probe::AddTo(") for name in reached):
        errors.append("the interpreter was not reached")
    for error in errors:
        print(error)
    print(f"{len(came_from)} functions, from {len(roots)}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
