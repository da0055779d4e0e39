#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All files that name the version name that of CMakeLists.txt. Usage: version_test.py REPOSITORY"""
import pathlib
import re
import sys

# The words by which each file names it.
PLACES = {
    "packaging/conan/conanfile.py": r'version = "(.*)"',
    "packaging/debian/changelog": r"\Alagwatch \((.*)-\d+\)",
    "packaging/vcpkg/lagwatch/vcpkg.json": r'"version": "(.*)"',
    "sdk/apple/LWHangDiagnostics.m": r'(?:@"version" : @"|sentry_client=lagwatch/)([0-9.]+)',
    "sdk/rust/Cargo.toml": r'\nversion = "(.*)"',
    "sdk/rust/Cargo.lock": r'\nversion = "(.*)"',
    "sdk/jvm/library/pom.xml": r"<artifactId>lagwatch</artifactId>\n  <version>(.*)</version>",
    "sdk/node/package.json": r'\n  "version": "(.*)"',
    "sdk/python/pyproject.toml": r'\nversion = "(.*)"',
    "sdk/apple/LagWatch.podspec": r'spec.version = "(.*)"',
    "sdk/include/lagwatch/c.h": r'the version of the library, as "(.*)"',
}


def main() -> None:
    repository = pathlib.Path(sys.argv[1])
    version = re.search(r"^project\(lagwatch VERSION (\S+)", (repository / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
    for file, pattern in PLACES.items():
        named = re.findall(pattern, (repository / file).read_text())
        assert named and set(named) == {version}, f"{file} names {named or 'no version'}, CMakeLists.txt {version}"


if __name__ == "__main__":
    main()
