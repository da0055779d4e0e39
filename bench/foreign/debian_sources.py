# SPDX-License-Identifier: Apache-2.0
"""Sources of Debian's packages, for suites that no package installs; the programs are the installed ones."""
import pathlib
import re
import shutil
import subprocess
import sys

DIRECTORY = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "foreign"
LIST = """deb-src http://deb.debian.org/debian bookworm main
deb-src http://deb.debian.org/debian-security bookworm-security main
"""


def options():
    """apt-get's own list of sources, beside the machine's."""
    return ["-qq", "-o", f"Dir::Etc::sourcelist={DIRECTORY}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
            "-o", f"Dir::State::lists={DIRECTORY}/lists", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]


def versions(package):
    """Those in the lists, the newest first. A server may have lost the files of the newest."""
    shown = subprocess.run(["apt-cache", *options(), "showsrc", package], capture_output=True, text=True, check=False).stdout
    return sorted(set(re.findall(r"^Version: (.*)$", shown, re.MULTILINE)), reverse=True)


def fetched(package, fetch=True):
    """The directory with the package's source, or None if it cannot be fetched."""
    for path in sorted(DIRECTORY.glob(package + "-[0-9]*")):
        if path.is_dir():
            return path
    if not fetch or not shutil.which("dpkg-source"):
        return None
    (DIRECTORY / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (DIRECTORY / "sources.list").write_text(LIST)
    print(f"foreign: fetches the source of {package}", file=sys.stderr)
    quiet = {"cwd": DIRECTORY, "check": False, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["apt-get", *options(), "update"], **quiet)
    for version in versions(package):
        if subprocess.run(["apt-get", *options(), "source", f"{package}={version}"], **quiet).returncode == 0:
            break
    return fetched(package, fetch=False)
