#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what scripts/release makes of a build twice, and compares it byte for byte; looks at the bill of materials.

Usage: release_test.py BUILD_DIRECTORY
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from package_files import NAMES, REPOSITORY, deb

EPOCH = "1700000000"


def digest(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check_packages(build: pathlib.Path) -> None:
    """A second pass over the same build, at another time and in another folder, gives the same packages."""
    with tempfile.TemporaryDirectory() as again:
        subprocess.run([REPOSITORY / "scripts/debs", "--output", again], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, TZ="Asia/Tokyo", LC_ALL="C", SOURCE_DATE_EPOCH=EPOCH))
        files = sorted((build / "debs").glob("*.deb"))
        assert len(files) == 2 * len(NAMES) - 1, files
        for file in files:
            assert digest(file) == digest(pathlib.Path(again) / file.name), f"{file.name} differs"


def check_bill(files: list[pathlib.Path]) -> None:
    command = [sys.executable, REPOSITORY / "packaging/sbom.py", "0.1.0", "c0ffee", EPOCH, *files]
    first, second = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2))
    assert first == second
    bill = json.loads(first)
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    ids = [part["SPDXID"] for part in (bill, *bill["packages"], *bill["files"])]
    assert len(set(ids)) == len(ids), "an id stands for two things"
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(ids), relation
    assert sorted(file["fileName"] for file in bill["files"]) == sorted("./" + file.name for file in files)
    for file in bill["files"]:
        named = next(each for each in files if "./" + each.name == file["fileName"])
        assert {"algorithm": "SHA256", "checksumValue": digest(named)} in file["checksums"]
    names = {package["name"] for package in bill["packages"]}
    assert {"lagwatch", "libsqlite3-dev", "libssl-dev", "preact", "uplot"} <= names and not names & {"cmake", "vite", "typescript"}, names
    assert all(package["versionInfo"] for package in bill["packages"])


def main() -> None:
    build = pathlib.Path(sys.argv[1])
    check_bill([deb(build, name) for name in NAMES])
    check_packages(build)


if __name__ == "__main__":
    main()
