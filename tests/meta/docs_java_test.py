#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/languages.md for Java, each with a JVM whose selector's handler sleeps.

Usage: docs_java_test.py REPOSITORY DIRECTORY_OF_PROGRAMS AGENT DIRECTORY_OF_CLASSES
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

PACKAGED_AGENT = "/usr/lib/x86_64-linux-gnu/lagwatch/liblagwatch_jvm.so"


def commands(repository: pathlib.Path) -> list[list[str]]:
    text = (repository / "docs/languages.md").read_text()
    section = re.search(r"^## Java\n(.*?)^## ", text, re.MULTILINE | re.DOTALL).group(1)
    code = re.sub(r"^```.*?^```", "", section, flags=re.MULTILINE | re.DOTALL)
    return [line.split() for line in re.findall(r"^    (.+)$", code, re.MULTILINE)]


def write_jar(jar: pathlib.Path, classes: pathlib.Path) -> None:
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nMain-Class: SelectorProgram\n")
        for file in classes.glob("SelectorProgram*.class"):
            archive.write(file, file.name)


def threads_of(pid: int) -> list[str]:
    return [file.read_text().strip() for file in pathlib.Path(f"/proc/{pid}/task").glob("*/comm")]


def start(jar: pathlib.Path) -> subprocess.Popen:
    java = subprocess.Popen(["java", "-jar", jar, "alone", "after-input"], stdin=subprocess.PIPE)
    while "request-loop" not in threads_of(java.pid) and java.poll() is None:
        time.sleep(0.05)
    return java


def expect_report(home: pathlib.Path) -> None:
    reports = subprocess.check_output(["lagwatch", "reports", "--spool", home / "spool", "--json"])
    loops = [report["loop"] for report in json.loads(reports) if report["app"] == "app.jar"]
    assert "request-loop" in loops, reports


def main() -> None:
    repository, programs, agent, classes = (pathlib.Path(argument) for argument in sys.argv[1:])
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    run, with_agent, attach, detach = commands(repository)
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        write_jar(home / "app.jar", classes)
        flags = ["--threshold-ms", "500", "--spool", "spool"]
        subprocess.run([*run[:2], *flags, *run[2:], "alone"], cwd=home, check=True)
        expect_report(home)
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        write_jar(home / "app.jar", classes)
        options = with_agent[1].replace(PACKAGED_AGENT, str(agent)).replace("/var/spool/app", str(home / "spool"))
        assert str(agent) in options and str(home) in options, options
        subprocess.run([with_agent[0], options, *with_agent[2:], "alone"], cwd=home, check=True)
        expect_report(home)
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        name = f"app-{os.getpid()}.jar"  # other tests run meanwhile
        write_jar(home / name, classes)
        with start(home / name) as java:
            named = [name if word == "app.jar" else word for word in attach]
            subprocess.run([*named, "--spool", home / "spool", "--app", "app.jar"], check=True)
            java.communicate(b"\n")
            assert java.returncode == 0
        expect_report(home)
        with start(home / name) as java:
            subprocess.run(named, check=True, cwd=home, env=dict(os.environ, LAGWATCH_SPOOL_DIRECTORY=str(home / "other")))
            subprocess.run([name if word == "app.jar" else word for word in detach], check=True)
            assert "lagwatch" not in threads_of(java.pid), threads_of(java.pid)
            java.communicate(b"\n")


if __name__ == "__main__":
    main()
