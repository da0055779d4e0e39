# SPDX-License-Identifier: Apache-2.0
"""The packages that scripts/debs has built, and clean systems to install them in. Run by itself, it makes the systems.

Usage: package_files.py BUILD_DIRECTORY
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
NAMES = ["lagwatch", "lagwatch-collector", "liblagwatch0", "liblagwatch-dev"]
SKIPPED = 77


def deb(build: pathlib.Path, name: str) -> pathlib.Path:
    files = list((build / "debs").glob(f"{name}_*.deb"))
    assert len(files) == 1, f"{name}: {files}; run scripts/debs"
    return files[0]


def field(file: pathlib.Path, name: str) -> str:
    return subprocess.run(["dpkg-deb", "-f", file, name], capture_output=True, text=True, check=True).stdout.strip()


def older(file: pathlib.Path, version: str, folder: pathlib.Path) -> pathlib.Path:
    """The package with an earlier version, as if it had been built before."""
    with tempfile.TemporaryDirectory() as directory:
        content = pathlib.Path(directory) / "content"
        subprocess.run(["dpkg-deb", "-R", file, content], check=True)
        control = content / "DEBIAN/control"
        now = field(file, "Version")
        text = control.read_text().replace(now, version).replace(now.partition("-")[0], version.partition("-")[0])
        assert f"Version: {version}\n" in text
        control.write_text(text)
        made = folder / f"{field(file, 'Package')}_{version}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", content, made], check=True, stdout=subprocess.DEVNULL)
    return made


def dependencies(build: pathlib.Path) -> list[str]:
    """The packages of others that ours depend on, without versions and alternatives."""
    names = set()
    for name in NAMES:
        for part in (field(deb(build, name), "Depends") + "," + field(deb(build, name), "Recommends")).split(","):
            word = re.split(r"[\s(|]", part.strip())[0]
            if word and word not in NAMES:
                names.add(word)
    return sorted(names)


def make_root(build: pathlib.Path, name: str = "root", included: list[str] | None = None) -> pathlib.Path:
    """A small Debian 12 with those packages, or with what ours depend on. It is kept, and made again when that changes."""
    root, stamp = build / f"packages/{name}", build / f"packages/{name}.stamp"
    if included is None:
        included = sorted({"systemd", "systemd-sysv", *dependencies(build)})
    wanted = "\n".join(["bookworm", *included])
    if stamp.exists() and stamp.read_text() == wanted:
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(exist_ok=True)
    options = ["--include=" + ",".join(included)] if included else []
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--format=directory", *options,
                    '--aptopt=Acquire::Languages "none"', "bookworm", root], check=True)
    stamp.write_text(wanted)
    return root


if __name__ == "__main__":
    SKIPPED = 77
    try:
        make_root(pathlib.Path(sys.argv[1]))
        make_root(pathlib.Path(sys.argv[1]), "slim", [])
    except subprocess.CalledProcessError as error:
        print(f"skipped: no Debian can be made here: {error}", file=sys.stderr)
        sys.exit(SKIPPED)
