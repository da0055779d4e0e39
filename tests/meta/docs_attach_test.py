#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the sh blocks of docs/attach.md, each against a program that freezes, and holds its options to what there is.

Usage: docs_attach_test.py REPOSITORY DIRECTORY_OF_PROGRAMS
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time


def main() -> None:
    repository, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    text = (repository / "docs/attach.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6, blocks
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
    for block in blocks:
        with tempfile.TemporaryDirectory() as home:
            # A program of its own name: other tests run meanwhile.
            program = pathlib.Path(home) / "watched-in-docs"
            is_outside = block.startswith("lagwatch watch")
            source = "watched_program" if is_outside else "watched_shared_program"
            program.write_bytes((pathlib.Path(programs) / source).read_bytes())
            program.chmod(0o755)
            target = subprocess.Popen([program, "sleeps", "2"], stdout=subprocess.PIPE, text=True)
            target.stdout.readline()
            command = block.strip().replace("4711", str(target.pid)).replace("redis-server", program.name)
            flags = ["--threshold-ms", "500", "--spool", f"{home}/spool"]
            if not is_outside:
                attach = block.strip().replace("detach", "attach").replace("redis-server", str(target.pid))
                subprocess.run([*attach.split(), *flags], env=environment, check=True)
                if block.startswith("lagwatch detach"):
                    subprocess.run(command.split(), env=environment, check=True)
                assert target.wait(20) == 0
                reports = json.loads(subprocess.check_output(
                    ["lagwatch", "reports", "--spool", f"{home}/spool", "--json"], env=environment))
                assert len(reports) == (1 if block.startswith("lagwatch attach") else 0), f"{command}\n{reports}"
                continue
            watcher = subprocess.Popen([*command.split(), *flags],
                                       env=environment, stderr=subprocess.PIPE, text=True)
            assert target.wait(20) == 0
            time.sleep(0.5)
            watcher.send_signal(signal.SIGINT)
            _, errors = watcher.communicate(timeout=20)
            assert watcher.returncode == 0, f"{command}\n{errors}"
            reports = json.loads(subprocess.check_output(["lagwatch", "reports", "--spool", f"{home}/spool", "--json"],
                                                         env=environment))
            assert any(report["app"] == program.name for report in reports), f"{command}\n{reports}\n{errors}"
    for rules in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(rules)
            file.flush()
            subprocess.run(["lagwatchd", "--check", "--config", file.name], env=environment, check=True)
    help_text = "".join(subprocess.check_output(["lagwatch", command, "--help"], env=environment, text=True)
                        for command in ("watch", "attach", "daemon"))
    for option in set(re.findall(r"`(--[\w-]+)", text)):
        assert option in help_text, f"docs/attach.md tells of {option}, which there is not"


if __name__ == "__main__":
    main()
