#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that objects for Android import only symbols that its C library has at an API level.

Prints a line for each symbol that it does not have, and exits 1; otherwise prints the number of imports.
"""

import argparse
import pathlib
import re
import subprocess
import sys

MAPS = ("libc/libc.map.txt", "libm/libm.map.txt", "libdl/libdl.map.txt")
ARCHITECTURES = {"aarch64": "arm64", "x86_64": "x86_64"}
# Symbols of what the NDK links besides: the C++ library, its unwinder, compiler-rt and the start files, and of the libraries
# that the app's build brings.
OTHERS = re.compile(
    r"_Z(N?K?S|N[KVS]*St|S|T[ISV]|n|d|GVNSt|St)|__cxa_|__gxx_|__dynamic_cast$|_Unwind_|__emutls_get_address$|__aarch64_|__cpu_(model|indicator_init)$|"
    r"__(u?(div|mod)ti3|clear_cache)$|__dso_handle$|atexit$|_GLOBAL_OFFSET_TABLE_$|"
    r"(SSL|EVP|BIO|OPENSSL|X509|PEM|ERR|HMAC|RAND|CRYPTO)_|curl_|lzma_|(inflate|deflate|compress|uncompress|crc32|adler32)")


def symbols_of_map(path, architecture):
    """The public symbols of a linker script of bionic, with the API level that each came with."""
    levels = {}
    section_level, is_public = 0, False
    for line in path.read_text().splitlines():
        code, _, tags = line.partition("#")
        code, tags = code.strip(), tags.split()
        introduced = [int(value) for tag in tags
                      for name, _, value in [tag.partition("=")]
                      if name in ("introduced", f"introduced-{architecture}") and value.isdigit()]
        if code.endswith("{"):
            section_level = introduced[-1] if introduced else 0
            is_public = not re.search("PRIVATE|PLATFORM", code) and "platform-only" not in tags
            continue
        of_architectures = [tag for tag in tags if tag in ("arm", "arm64", "riscv64", "x86", "x86_64")]
        is_ours = not of_architectures or architecture in of_architectures
        is_for_apps = not {"apex", "llndk", "platform-only", "systemapi"} & set(tags) or introduced
        if is_public and is_ours and is_for_apps and re.fullmatch(r"\w+;", code) and code != "local;":
            level = introduced[-1] if introduced else section_level
            levels[code[:-1]] = min(level, levels.get(code[:-1], level))
    return levels


def symbols_of_objects(folder):
    defined, undefined = set(), {}
    objects = sorted(folder.rglob("*.o"))
    for path in objects:
        listing = subprocess.run(["llvm-nm", "--format=posix", path], check=True, capture_output=True, text=True).stdout
        for name, kind in (line.split()[:2] for line in listing.splitlines()):
            if kind == "U":
                undefined.setdefault(name, path.name)
            elif kind not in "wv":
                defined.add(name)
    return objects, {name: path for name, path in undefined.items() if name not in defined}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bionic", type=pathlib.Path, required=True, help="a checkout of AOSP's bionic")
    parser.add_argument("--api", type=int, required=True, help="the API level")
    parser.add_argument("--processor", choices=ARCHITECTURES, required=True)
    parser.add_argument("folder", type=pathlib.Path, help="where the objects are")
    options = parser.parse_args()
    levels = {}
    for name in MAPS:
        levels.update(symbols_of_map(options.bionic / name, ARCHITECTURES[options.processor]))
    objects, imports = symbols_of_objects(options.folder)
    if not objects:
        sys.exit(f"{options.folder} has no objects")
    of_bionic, missing = 0, 0
    for name, path in sorted(imports.items()):
        if levels.get(name, options.api + 1) <= options.api:
            of_bionic += 1
        elif not OTHERS.match(name):
            since = f"only from API level {levels[name]} on" if name in levels else "not at all"
            print(f"{path} imports {name}, which bionic has {since}", file=sys.stderr)
            missing += 1
    if missing:
        sys.exit(1)
    print(f"{len(objects)} objects, {of_bionic} imports of bionic")


if __name__ == "__main__":
    main()
