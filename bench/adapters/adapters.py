#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers of lagwatch/adapters: the cost of each, and whether it finds the hangs that a program has planted, by their names.

The last line is one JSON object with an object for each adapter:
  bare_ns, added_ns   processor time of a dispatch without it, and that which it adds: the least of several alternating runs
  added_to_threads_ns the same in a program that has a second thread, which sleeps: the C library's and the kernel's short cuts for one
                      thread are over then
  hangs, found        hangs that the programs of tests/sdk/adapters plant, and those of them that are reported
  tags_right_pct      of the planted hangs with a name, the share that is reported by it; null: the loop has no names
  nested_false        reports of anything else: dialogs, nested loops, loops that are run by hand
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
import suite  # noqa: E402

PACKAGES = ["libglib2.0-dev", "libuv1-dev", "libevent-dev", "libev-dev", "libsystemd-dev", "libsdl2-dev", "libboost-dev", "qtbase5-dev", "qt6-base-dev"]
TARGETS = ["lagwatch-cli", "lagwatch", "adapters_tests"]
FOLDER = pathlib.Path(__file__).resolve().parent
# By the name of its planted program: the source here, and the module of pkg-config or the library.
ADAPTERS = {"glib": ("glib.c", "glib-2.0"), "qt5": ("qt.cc", "Qt5Core"), "qt6": ("qt.cc", "Qt6Core"), "libuv": ("libuv.c", "libuv"),
            "asio": ("asio.cc", None), "libevent": ("libevent.c", "libevent"), "libev": ("libev.c", "-lev"),
            "sd_event": ("sd_event.c", "libsystemd"), "sdl": ("sdl.c", "sdl2")}
ALTERNATIONS = 9


def compiled(name, programs, work):
    source, module = ADAPTERS[name]
    flags = []
    if module is not None:
        flags = [module] if module.startswith("-l") else subprocess.run(
            ["pkg-config", "--cflags", "--libs", module], text=True, capture_output=True, check=True).stdout.split()
    libraries = programs.parent / "lib"
    program = work / name
    compiler = ["cc"] if source.endswith(".c") else ["c++", "-std=c++17"]
    subprocess.run([*compiler, "-O2", "-fPIC", f"-I{work}", f"-I{suite.ROOT}/sdk/include", FOLDER / source, "-o", program, *flags,
                    f"-L{libraries}", "-llagwatch", f"-Wl,-rpath,{libraries}", "-lpthread"], check=True)
    return program


def costs(name, programs, work):
    program = compiled(name, programs, work)
    least = dict.fromkeys(("bare", "watched", "bare-threads", "watched-threads"), float("inf"))
    for _ in range(ALTERNATIONS):
        for kind in least:
            done = subprocess.run([program, kind, work / f"{name}-{kind}"], text=True, capture_output=True, check=True)
            least[kind] = min(least[kind], float(done.stdout))
    return {"bare_ns": least["bare"], "added_ns": round(least["watched"] - least["bare"], 1),
            "added_to_threads_ns": round(least["watched-threads"] - least["bare-threads"], 1)}


def reports(programs, spool):
    def ask(*question):
        done = subprocess.run([programs / "lagwatch", *question, "--spool", spool, "--json"], text=True, capture_output=True, check=True)
        return json.loads(done.stdout)
    return [ask("report", header["id"]) for header in ask("reports")]


def planted(name, programs, work):
    """One run of the planted program: hangs, found, hangs with a name, of them right, and false reports."""
    spool = work / f"{name}-spool"
    done = subprocess.run([programs / f"adapter_{name}", spool], text=True, capture_output=True, check=True)
    left = reports(programs, spool)
    hangs = [line.split(" ", 1) for line in done.stdout.splitlines()]
    found = named = right = 0
    for function, tag in hangs:
        known = [report for report in left if f'"{function}' in json.dumps(report["expensive_stack"]) or
                 f"::{function}" in json.dumps(report["expensive_stack"])]
        is_named = tag not in ("-", "*")
        named += is_named
        if known:
            found += 1
            right += is_named and known[0].get("tag") == tag
            left.remove(known[0])
    return {"hangs": len(hangs), "found": found, "tags_right_pct": round(100 * right / named, 1) if named else None,
            "nested_false": len(left)}


def main():
    options = suite.parser(__doc__, only="the adapters' names begin so")
    arguments = suite.parse(options)
    figures = {}
    with suite.work_directory() as work:
        (work / "lagwatch").mkdir()
        (work / "lagwatch/adapters").symlink_to(suite.ROOT / "sdk/adapters")
        for name in ADAPTERS:
            if not name.startswith(arguments.only):
                continue
            figures[name] = costs(name, arguments.bin, work) | planted(name, arguments.bin, work)
            suite.progress(name, figures[name])
    is_good = all(figure["found"] == figure["hangs"] and figure["nested_false"] == 0 for figure in figures.values())
    return suite.result(figures, is_good)


if __name__ == "__main__":
    sys.exit(main())
