#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the software bill of materials of a release, as SPDX 2.3 in JSON, to stdout: the same bytes for the same commit and
the same installed packages.

Usage: sbom.py VERSION COMMIT SOURCE_DATE_EPOCH FILE…

FILE… are the release's files. They are made of Debian's packages that the build links (those of
`scripts/bootstrap --install`), and of the packages of npm that the collector's page is bundled from.
"""
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
# Tools of the build, of which nothing is in the result.
TOOLS = {"clang", "cmake", "g++", "ninja-build", "nodejs", "npm", "openjdk-17-jdk-headless", "zstd"}


def spdx_id(*parts: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(parts))


def package(name: str, version: str, purl: str, licence: str = "NOASSERTION") -> dict:
    return {"SPDXID": spdx_id("Package", purl.split("/")[0].removeprefix("pkg:"), name, version), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def debian_packages() -> list[dict]:
    names = subprocess.run([REPOSITORY / "scripts/bootstrap", "--install", "--list"], capture_output=True, text=True,
                           check=True).stdout.split()
    found = []
    for name in sorted(set(names) - TOOLS):
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True).stdout
        found.append(package(name, version, f"pkg:deb/debian/{name}@{version}?distro=bookworm"))
    return found


def npm_packages() -> list[dict]:
    """The packages that are bundled into the page; tools of development are not."""
    lock = json.loads((REPOSITORY / "collector/web/package-lock.json").read_text(encoding="utf-8"))
    return [package(path.rpartition("node_modules/")[2], entry["version"],
                    f"pkg:npm/{path.rpartition('node_modules/')[2].replace('@', '%40')}@{entry['version']}", entry.get("license", "NOASSERTION"))
            for path, entry in sorted(lock["packages"].items()) if path and not entry.get("dev") and not entry.get("optional")]


def main() -> None:
    version, commit, epoch, *files = sys.argv[1:]
    own = package("lagwatch", version, f"pkg:generic/lagwatch@{version}", "Apache-2.0")
    parts = debian_packages() + npm_packages()
    described = []
    for path in sorted(map(pathlib.Path, files), key=lambda path: path.name):
        content = path.read_bytes()
        described.append({"SPDXID": spdx_id("File", path.name), "fileName": "./" + path.name, "licenseConcluded": "NOASSERTION",
                          "copyrightText": "NOASSERTION",
                          "checksums": [{"algorithm": name.upper(), "checksumValue": hashlib.new(name, content).hexdigest()}
                                        for name in ("sha1", "sha256")]})
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "DEPENDS_ON", part["SPDXID"]) for part in parts]
    relations += [(own["SPDXID"], "CONTAINS", file["SPDXID"]) for file in described]
    created = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"lagwatch-{version}",
               "documentNamespace": f"https://lagwatch.org/spdx/lagwatch-{version}-{commit}",
               "creationInfo": {"created": created, "creators": ["Organization: The lagwatch developers", "Tool: packaging/sbom.py"]},
               "packages": [own, *parts], "files": described,
               "relationships": [{"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to} for of, kind, to in relations]},
              sys.stdout, indent=1, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
