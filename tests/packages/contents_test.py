#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at the packages without installing them: names, files, dependencies, traces of the build, debug symbols, lintian.

Usage: contents_test.py BUILD_DIRECTORY
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from package_files import NAMES, REPOSITORY, deb, field

# A file that each package is there for.
FILES = {
    "lagwatch": ["usr/bin/lagwatch", "usr/bin/lagwatchd", "usr/lib/*/lagwatch/liblagwatch-preload.so", "usr/lib/*/lagwatch/lagwatch-commands",
                 "usr/lib/*/lagwatch/liblagwatch_jvm.so", "lib/systemd/system/lagwatchd.service"],
    "lagwatch-collector": ["usr/bin/lagwatch-collector", "etc/lagwatch/collector.toml", "lib/systemd/system/lagwatch-collector.service"],
    "liblagwatch0": ["usr/lib/*/liblagwatch.so.0"],
    "liblagwatch-dev": ["usr/include/lagwatch/c.h", "usr/lib/*/liblagwatch.a", "usr/lib/*/pkgconfig/lagwatch.pc"],
}


def output(*command) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check_control() -> None:
    """Build-Depends are what scripts/bootstrap installs for the same build, and versions agree."""
    control = (REPOSITORY / "packaging/debian/control").read_text()
    needed = set(re.findall(r"^ ([a-z0-9+.-]+)", control[:control.index("Standards-Version")], re.MULTILINE))
    # The compiler is essential for builds, npm may be another one's, and zstd packs the relocatable archive.
    listed = set(output(REPOSITORY / "scripts/bootstrap", "--install", "--list").split()) - {"g++", "zstd"}
    ours = needed - {"debhelper-compat", "dh-sequence-installsysusers", "nodejs", "npm"}
    assert ours == listed - {"nodejs", "npm"}, ours ^ listed
    version = re.search(r"project\(lagwatch VERSION ([\d.]+)", (REPOSITORY / "CMakeLists.txt").read_text()).group(1)
    changes = (REPOSITORY / "packaging/debian/changelog").read_text()
    assert changes.startswith(f"lagwatch ({version}-"), changes.splitlines()[0]


def check_files(name: str, package: pathlib.Path, folder: pathlib.Path) -> None:
    subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    for pattern in FILES[name]:
        assert list(folder.glob(pattern)), f"{name} lacks {pattern}"
    traces = [str(REPOSITORY).encode(), b"ccache", b"/build/deb"]
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            content = file.read_bytes()
            assert not any(trace in content for trace in traces), f"{file} names the place where it was built"
    for line in output("dpkg-deb", "-c", package).splitlines():
        assert line.split()[1] == "root/root", line


def check_symbols(build: pathlib.Path, folder: pathlib.Path) -> None:
    """Each program's debug file is in one of the packages of debug symbols, and in no other one."""
    debug_files = []
    for package in (build / "debs").glob("*-dbgsym_*.deb"):
        with tempfile.TemporaryDirectory() as symbols:
            subprocess.run(["dpkg-deb", "-x", package, symbols], check=True)
            debug_files += [file.parent.name + file.stem for file in pathlib.Path(symbols).rglob(".build-id/*/*.debug")]
    assert len(set(debug_files)) == len(debug_files), "they could not be installed together"
    for file in folder.rglob("*"):
        if file.is_symlink() or not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
            continue
        found = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", file))
        assert found and found.group(1) in debug_files, f"{file} has no debug symbols"


def check_consumer(prefix: pathlib.Path) -> None:
    """A program in C that pkg-config finds the library for, by the two packages alone."""
    folder = next(prefix.glob("usr/lib/*/pkgconfig"))
    environment = dict(os.environ, PKG_CONFIG_PATH=str(folder), LD_LIBRARY_PATH=str(folder.parent))
    source = REPOSITORY / "tests/install/consumer/one_hang.c"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "lagwatch"], env=environment, capture_output=True,
                           text=True, check=True).stdout.split()
    subprocess.run(["gcc", source, "-o", prefix / "one_hang", *flags, "-pthread"], check=True)
    subprocess.run([prefix / "one_hang", prefix / "spool"], env=environment, check=True)


def check_lint(build: pathlib.Path) -> None:
    changes = list((build / "debs").glob("*.changes"))
    # These packages are no upload to Debian, where a bug announces each new one.
    suppressed = ["initial-upload-closes-no-bugs"]
    # The commands write their manual pages by this part of them.
    if not (REPOSITORY / "tools/help").is_dir():
        suppressed.append("no-manual-page")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", ",".join(suppressed), *changes],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def main() -> None:
    build = pathlib.Path(sys.argv[1])
    check_control()
    with tempfile.TemporaryDirectory() as directory:
        for name in NAMES:
            package, folder = deb(build, name), pathlib.Path(directory) / name
            check_files(name, package, folder)
        check_symbols(build, pathlib.Path(directory))
        prefix = pathlib.Path(directory) / "sdk"
        for name in ("liblagwatch0", "liblagwatch-dev"):
            subprocess.run(["dpkg-deb", "-x", deb(build, name), prefix], check=True)
        check_consumer(prefix)
    assert field(deb(build, "liblagwatch-dev"), "Depends").startswith("liblagwatch0 (= ")
    # The commands are installed by one file.
    assert "lagwatch" not in field(deb(build, "lagwatch"), "Depends")
    check_lint(build)


if __name__ == "__main__":
    main()
