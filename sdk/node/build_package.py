#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the addon and packs the npm package, without a network; the same sources and library give the same bytes.

Usage: build_package.py --include DIRECTORY --library FILE --output DIRECTORY [--headers DIRECTORY] [--no-copy]. Prints the
tarball's path. The headers are those of the installed Node (node_api.h); Debian has them in libnode-dev.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PLACES = ("/usr/include/node", "/usr/include/nodejs/src", "/usr/local/include/node")


def headers_of(given: str) -> str:
    if given:
        return given
    node = shutil.which("node")
    places = [*PLACES, str(pathlib.Path(node).resolve().parent.parent / "include/node")] if node else PLACES
    for place in places:
        if os.path.exists(f"{place}/node_api.h"):
            return place
    sys.exit("build_package: node_api.h is not on this machine; Debian has it in libnode-dev")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=pathlib.Path, required=True, help="the folder that has lagwatch/c.h")
    parser.add_argument("--library", type=pathlib.Path, required=True, help="liblagwatch.so")
    parser.add_argument("--headers", default="", help="the folder that has node_api.h")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--no-copy", action="store_true", help="without the library: for that of the Debian package")
    options = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parent
    headers = headers_of(options.headers)
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "package"
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("node_modules", "*.tgz", "native", "*.py"))
        if not (options.include / "lagwatch/adapters").exists():  # of a checkout, not of an installation
            (pathlib.Path(work) / "include/lagwatch").mkdir(parents=True)
            (pathlib.Path(work) / "include/lagwatch/adapters").symlink_to(source.parent / "adapters")
        addon = folder / "lagwatch.node"
        subprocess.run([os.environ.get("CC", "gcc"), "-std=c11", "-O2", "-g0", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra",
                        f"-ffile-prefix-map={source}=.", "-isystem", headers, f"-I{options.include}", f"-I{work}/include",
                        source / "native/addon.c", options.library.resolve(), "-Wl,-rpath,$ORIGIN", "-Wl,-z,now", "-pthread", "-o", addon],
                       check=True)
        files = [addon]
        if not options.no_copy:
            files.append(shutil.copyfile(options.library, folder / "liblagwatch.so.0"))
        subprocess.run(["strip", "--strip-unneeded", *files], check=True)
        for path in folder.iterdir():
            path.chmod(0o644)
        packed = subprocess.run(["npm", "pack", "--silent", "--pack-destination", str(options.output.resolve())], cwd=folder, check=True,
                                capture_output=True, text=True)
        print(options.output / packed.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
