# SPDX-License-Identifier: Apache-2.0
"""Sources of Debian's packages, for suites that no package installs; the programs are the installed ones."""
import pathlib
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
    for command in (["update"], ["source", package]):
        subprocess.run(["apt-get", *options(), *command], cwd=DIRECTORY, check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return fetched(package, fetch=False)
