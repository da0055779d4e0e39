#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the unwinder against gdb: runs a program under gdb, and at each of its stops compares both stacks.

usage: gdb_oracle.py GDB STOPS PROGRAM ARGUMENT...

The program calls OracleStop() in a signal handler, after it has unwound what the signal interrupted. gdb's frames
past that handler must be the same. Exits 0 when they are, and when there were as many stops as wanted.
"""

import collections
import os
import subprocess
import sys

# Known differences of stacks, with reasons: a part of the name of a function that gdb has on the stack.
FAULTS = {
    "_Unwind_": "an exception about to land overwrites return addresses, and there is no one right answer",
    "Coroutine": "gdb goes on past a coroutine's first function",
    "__start_context": "gdb goes on past a coroutine's first function",
}


def compare_at_stops(wanted):
    """Runs inside of gdb."""
    import gdb  # pylint: disable=import-error

    def frames_of_gdb():
        """The program counters from the interrupted instruction outwards, and the functions' names."""
        frame = gdb.newest_frame()
        while frame is not None and frame.type() != gdb.SIGTRAMP_FRAME:
            frame = frame.older()
        frame = None if frame is None else frame.older()
        found = []
        while frame is not None:
            # The others are gdb's own account of what was inlined or jumped from, and are on no stack.
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                found.append((frame.pc(), frame.name() or "?"))
            frame = frame.older()
        return found

    def frames_of_ours():
        count = int(gdb.parse_and_eval("*(unsigned int*)&g_oracle_frame_count"))
        address = int(gdb.parse_and_eval("(unsigned long)&g_oracle_frames"))
        memory = gdb.selected_inferior().read_memory(address, 8 * count).tobytes()
        return [int.from_bytes(memory[8 * i:8 * i + 8], sys.byteorder) for i in range(count)]

    for command in ("set pagination off", "set confirm off", "set debuginfod enabled off", "set backtrace past-main on",
                    "handle all nostop noprint pass", "handle SIGTRAP stop noprint nopass"):
        gdb.execute(command, to_string=True)
    gdb.Breakpoint("OracleStop").silent = True
    stops = collections.Counter()
    places = set()
    gdb.execute("run", to_string=True)
    while gdb.selected_inferior().pid != 0:
        theirs, ours = frames_of_gdb(), frames_of_ours()
        stops["all"] += 1
        places.add(ours[0])
        # A caller's frame may be named by its return address or by the byte before it.
        depth = 0
        while (depth < min(len(ours), len(theirs)) and
               (ours[depth] == theirs[depth][0] or (depth > 0 and ours[depth] + 1 == theirs[depth][0]))):
            depth += 1
        if depth == len(ours) == len(theirs):
            stops["equal"] += 1
        elif reasons := [why for part, why in FAULTS.items() if any(part in name for _, name in theirs)]:
            stops["explained (" + reasons[0] + ")"] += 1
        else:
            print(f"  UNEXPLAINED at depth {depth}: ours {[hex(pc) for pc in ours]}, "
                  f"gdb's {[(hex(pc), name) for pc, name in theirs]}")
            stops["unexplained"] += 1
        gdb.execute("continue", to_string=True)
    print("gdb oracle: " + ", ".join(f"{count} stops {kind}" for kind, count in stops.items()) +
          f", at {len(places)} addresses")
    is_right = (stops["all"] >= wanted and stops["unexplained"] == 0 and
                stops["equal"] * 100 >= stops["all"] * 95)
    gdb.execute(f"quit {0 if is_right else 1}")


def main():
    debugger, wanted, *program = sys.argv[1:]
    environment = dict(os.environ, ZOO_STOPS=wanted)
    return subprocess.run(
        [debugger, "-nx", "-batch", "-ex", f"python ORACLE_STOPS = {wanted}", "-x", os.path.abspath(__file__), "--args",
         *program], env=environment, check=False, stdin=subprocess.DEVNULL).returncode


if "ORACLE_STOPS" in globals():
    compare_at_stops(ORACLE_STOPS)  # pylint: disable=undefined-variable
elif __name__ == "__main__":
    sys.exit(main())
