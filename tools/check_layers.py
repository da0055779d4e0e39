#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each source file keeps to its layer: its includes, and its conditions on the system; and that no
folders, areas (folders of the first two levels) and files include each other in a circle.

Prints a line "file:line: violation: the rule" for each violation and exits 1; exits 0 without any.
"""

import argparse
import collections
import pathlib
import posixpath
import re
import sys

# The folders and files that a folder may include besides itself; a folder that is named here is no part of one above it.
# Files belong to the deepest folder named here. tools/affected.py goes by this table, too.
LAYERS = {
    "base": [],
    "policies": ["base"],
    "stack": ["stack/signal", "policies/hang.h", "policies/hang_parts.h", "policies/verdict.h", "base"],
    "stack/signal": ["stack/frames/raw_stack.h", "base"],
    "probe": ["base"],
    "trace": ["trace/model", "stack", "base"],
    "trace/model": ["stack/frames/frame.h", "base"],
    "trace/export": ["trace/model", "base"],
    "trace/format": ["trace/model", "report/format/guarded_read.h", "report/format/protozero_checked.h", "base"],
    "watchdog": ["stack", "trace", "policies", "base"],
    "report/format": ["policies/exit_reason.h", "policies/fact_names.h", "policies/frame_levels.h", "policies/time_discount.h",
                      "policies/hang.h", "policies/hang_parts.h", "policies/report_enums.def", "policies/upload/report_priority.h", "policies/usage.h",
                      "policies/verdict.h", "stack/frames/frame.h", "base"],
    "report/spool": ["report/format", "policies", "base"],
    "report/config": ["policies", "base"],
    "report/probes": ["report/config/signed_document.h", "base"],
    "report/seal": ["report/config/secret_key.h", "report/config/signed_document.h", "report/format", "base"],
    "report/sentry": ["report/format", "policies/cluster/cause_key.h", "policies/verdict.h", "base"],
    "report/upload": ["report/config", "report/format", "report/sentry", "report/spool", "policies", "base"],
    "sdk": ["sdk/include", "watchdog", "stack", "trace", "probe", "policies", "report", "base"],
    "sdk/adapters": ["sdk/include"],
    "sdk/android": ["sdk/include"],
    "sdk/apple": ["sdk/include"],
    "sdk/include": [],
    "sdk/jvm": ["base", "probe", "sdk/include", "sdk/probe", "trace"],
    "sdk/node": ["sdk/adapters", "sdk/include"],
    "sdk/python": ["sdk/adapters", "sdk/include"],
    "collector": ["report/config", "report/format", "report/probes", "report/seal", "report/sentry/dsn.h", "trace/export", "trace/format",
                  "trace/model", "policies", "base"],
    "tools": ["sdk", "report", "collector", "trace", "probe", "stack/elf/elf_file.h", "stack/elf/function_symbol.h",
              "stack/elf/local_symbols.h", "stack/elf/sdt_notes.h", "stack/threads/processor_clocks.h",
              "policies", "base"],
    "samples": ["sdk/adapters", "sdk/include"],
}
# Exceptions from the above: parts that a folder may not include.
EXCEPT = {
    "tools": ["collector/http"],
}

# The folders and files that may include a library's headers.
LIBRARIES = {
    "CLI/": ["base/command_line", "collector/commands", "collector/flags.cc", "collector/main.cc", "collector/settings_file.cc",
             "tools"],
    "boost/": ["collector/http", "samples/loops"],
    "bpf/": ["sdk/outside/kernel_waits_linux.cc"],
    "curl/": ["base/curl_handle.h", "sdk/late/curl_calls.cc"],
    "dwarf.h": ["collector/symbols", "tools/probe"],
    "elfutils/": ["collector/symbols"],
    "event2/": ["sdk/adapters/libevent.h"],
    "gelf.h": ["collector/symbols"],
    "libiberty/": ["collector/symbols"],
    "libunwind.h": ["bench", "tests"],
    "lzma.h": ["collector/symbols/elf/function_symbols.cc", "stack/elf/decompress.cc"],
    "nlohmann/": ["collector/keys", "collector/query", "collector/sentry", "collector/store", "report/config",
                  "report/probes", "report/sentry", "report/upload", "tools/read", "tools/schema", "trace/export/timeline.cc"],
    "openssl/": ["collector/http", "collector/keys", "collector/symbols/files/sha256.cc", "report/config", "report/probes",
                 "report/seal", "sdk/late"],
    "protozero/": ["report/format", "trace/export/proto.h"],
    "prometheus/": ["collector/http"],
    "spdlog/": ["collector/admin/audit_log.cc", "collector/config", "collector/http", "collector/keys",
                "collector/main.cc"],
    "sqlite3.h": ["collector/store"],
    "systemd/": ["sdk/adapters/sd_event.h"],
    "toml++/": ["collector/settings_file.cc", "tools/watch/watch_rules.cc"],
    "zlib.h": ["base/gzip", "collector/ingest", "report/seal", "stack/elf/decompress.cc"],
    "xcb/": ["sdk/outside/window_pings_xcb.cc"],
    "dbus/": ["tools/watch/compositor_service_dbus.cc"],
}
# The system's own headers that lie in folders.
SYSTEM_FOLDERS = ("arpa/", "asm/", "gnu/", "linux/", "mach/", "mach-o/", "net/", "netinet/", "sys/")

# Files that may ask for the system or the processor; elsewhere CMake chooses files by these names.
SYSTEM_SPECIFIC_NAME = re.compile(r"_(android|linux|darwin|none|x86_64|aarch64)\.(h|cc)$")
SYSTEM_SPECIFIC_FILES = [
    "base/ticks.h",
    "sdk/include/lagwatch/c.h",
    "stack/frames/call_registers.h",
    "stack/frames/raw_stack.h",
    "tools/run/target_check.cc",
]

# The most source files that one folder may hold.
MOST_FILES = 30

INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
CONDITION = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|elif)\b(.*)")
SYSTEM_MACRO = re.compile(
    r"\b(?:__linux(?:__)?|__gnu_linux__|linux|__unix(?:__)?|__APPLE__|__MACH__|__ANDROID__|__FreeBSD__"
    r"|_?WIN(?:32|64)|__x86_64(?:__)?|__amd64(?:__)?|__i386(?:__)?|__aarch64__|__arm(?:64)?__|__riscv)\b")
# A process or a thread that all code shares instead of being handed it.
AMBIENT_PROCESS = re.compile(
    r"\b(?:WatchFromOutside|ScopedPeerProcess|ReadWatched(?:Memory|Value))\b"
    r"|^\s*(?:(?:static|inline|constinit|thread_local|extern)\s+)+(?:base::)?(?:Process|Thread)\s+\w+\b(?!\()")
SUFFIXES = (".h", ".cc", ".cc.in")


def is_in(path, place):
    return path == place or path.startswith(place.rstrip("/") + "/")


def layer_of(path):
    return max((layer for layer in LAYERS if is_in(path, layer)), key=len, default=None)


def check_own_include(path, included):
    layer = layer_of(path)
    if any(is_in(included, part) for part in EXCEPT.get(layer, [])):
        return f"{layer} may not include {included}"
    if layer_of(included) != layer and not any(is_in(included, place) for place in LAYERS[layer]):
        allowed = ", ".join(LAYERS[layer]) or "nothing"
        return f"{layer} may not include {included}: besides itself it may include {allowed}"
    return None


# A sample and a binding are packages of their own, which name their files from where they are.
PACKAGES = {"samples": "a sample", "sdk/apple": "a binding", "sdk/node": "a binding", "sdk/python": "a binding"}


def package_of(path):
    return next((name for place, name in PACKAGES.items() if is_in(path, place)), None)


def check_package_include(path, included):
    folder = posixpath.dirname(path)
    is_own = layer_of(included) is None and is_in(posixpath.normpath(posixpath.join(folder, included)), folder)
    return None if is_own else f'{package_of(path)} may include its own files and <lagwatch/…>, not "{included}"'


def check_library_include(path, included):
    library = next((name for name in LIBRARIES if included.startswith(name)), None)
    if library is None:
        if "/" in included and not included.startswith(SYSTEM_FOLDERS):
            return f"<{included}> belongs to no known library: name its owner in LIBRARIES"
        return None
    if not any(is_in(path, owner) for owner in LIBRARIES[library]):
        return f"only {', '.join(LIBRARIES[library])} may include <{included}>"
    return None


def check_include(path, quote, included):
    if quote == "<":
        if included.startswith("lagwatch/"):
            is_adapter = included.startswith("lagwatch/adapters/")
            return check_own_include(path, included.replace("lagwatch/", "sdk/", 1) if is_adapter else "sdk/include/" + included)
        return check_library_include(path, included)
    if is_in(path, "sdk/include"):
        return f'public headers name each other as <lagwatch/…>, not "{included}"'
    if package_of(path):
        return check_package_include(path, included)
    return check_own_include(path, included)


def check_condition(path, condition):
    macro = SYSTEM_MACRO.search(condition)
    if macro is None or SYSTEM_SPECIFIC_NAME.search(path) or path in SYSTEM_SPECIFIC_FILES:
        return None
    return (f"asks for {macro.group()}: put what depends on it into a file named _linux, _x86_64, … "
            "that CMake chooses")


# So each header is compiled on its own at least once.
def check_first_include(root, path, included):
    header = posixpath.splitext(path)[0] + ".h"
    if not path.endswith(".cc") or not (root / header).exists() or package_of(path) or included == header:
        return None
    return f'its own header comes first: #include "{header}"'


def check_file(root, path):
    if layer_of(path) is None:
        yield 1, "belongs to no layer: name its folder in LAYERS"
        return
    is_first = True
    for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), start=1):
        if include := INCLUDE.match(line):
            problem = check_include(path, *include.groups())
            if is_first:
                problem = problem or check_first_include(root, path, include.group(2))
                is_first = False
        elif condition := CONDITION.match(line):
            problem = check_condition(path, condition.group(1))
        elif AMBIENT_PROCESS.search(line):
            problem = "names an ambient process: a base::Process (base/process/process.h) is handed down"
        else:
            continue
        if problem:
            yield number, problem


def included_files(root, files):
    """Yields each source file with the source files that it includes."""
    known = set(files)
    for path in files:
        text = (root / path).read_text(encoding="utf-8")
        yield path, [include[2] for line in text.splitlines() if (include := INCLUDE.match(line)) and include[2] in known]


def check_sizes(files):
    """Reports folders that hold too many files."""
    sizes = collections.Counter(posixpath.dirname(path) for path in files)
    for folder, size in sizes.items():
        if size > MOST_FILES:
            yield f"{folder}: {size} source files: give each job a folder, of {MOST_FILES} files at most"


def source_of(path):
    """A header and its source file are one part."""
    return re.sub(r"\.(h|cc|cc\.in)$", "", path)


def area_of(path):
    """The folder of the first two levels, with all folders in it."""
    return "/".join(posixpath.dirname(path).split("/")[:2])


def check_circles(root, files):
    """Reports folders, areas and files that include each other, directly or through others."""
    included = list(included_files(root, files))
    advice = {posixpath.dirname: "move what both need into a folder below",
              area_of: "move what both need below, or give one of them what it calls as an argument",
              source_of: "move what both need into a file of its own"}
    reported = set()
    for part_of, what_to_do in advice.items():
        parts = {}  # each part and the parts that it includes, with one file that does so
        for path, includes in included:
            below = parts.setdefault(part_of(path), {})
            for other in map(part_of, includes):
                if other != part_of(path):
                    below.setdefault(other, path)
        for part, other, path in circles(parts):
            if (part, other) not in reported:
                reported.add((part, other))
                yield f"{path}:1: {part} and {other} include each other: {what_to_do}"


def circles(parts):
    """Yields each include that belongs to a circle: the part, the included one, and a file that has it."""
    # Parts that include nothing but what is done are done, until only circles and what lies above them are left.
    left = dict(parts)
    while done := [part for part, below in left.items() if not any(other in left for other in below)]:
        for part in done:
            del left[part]
    for part, below in left.items():
        for other, path in below.items():
            if other in left and reaches(left, other, part):
                yield part, other, path


def reaches(folders, begin, end):
    seen, waiting = set(), [begin]
    while waiting:
        folder = waiting.pop()
        if folder == end:
            return True
        if folder not in seen:
            seen.add(folder)
            waiting += folders.get(folder, ())
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the repository (default: the one this script is in)")
    root = parser.parse_args().root
    folders = sorted({layer.split("/")[0] for layer in LAYERS})
    files = sorted(file.relative_to(root).as_posix()
                   for folder in folders for file in (root / folder).rglob("*") if file.name.endswith(SUFFIXES))
    if not files:
        parser.error(f"there are no sources under {root}: give the repository with --root")
    problems = [f"{path}:{line}: {problem}" for path in files for line, problem in check_file(root, path)]
    problems += check_sizes(files)
    problems += check_circles(root, files)
    print("\n".join(problems) or f"{len(files)} files keep to their layers")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
