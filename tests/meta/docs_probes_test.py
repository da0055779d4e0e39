#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the sh blocks of docs/probes.md against a redis-server with traffic, and holds the page's options to what there is.

Usage: docs_probes_test.py REPOSITORY DIRECTORY_OF_PROGRAMS
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


def connect(port: int) -> socket.socket:
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise AssertionError("redis-server does not listen")


def send_requests(port: int, is_over: threading.Event) -> None:
    with connect(port) as connection:
        while not is_over.wait(0.01):
            connection.sendall(b"GET key\r\n")
            connection.recv(100)


def check(block: str, pid: int, folder: str, environment: dict[str, str]) -> None:
    command = block.strip().replace("10s", "400ms").replace("lagwatch probe redis-server", f"lagwatch probe {pid}")
    command = command.replace("--functions", f"{pid} --functions")
    if "slow-calls" in command:
        command += " --for 400ms"
    run = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
                         timeout=60)
    assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
    hits = re.search(r"probe: (\d+) hit", run.stderr)
    assert hits is None or int(hits.group(1)) > 0, f"{command}\n{run.stdout}{run.stderr}"
    written = pathlib.Path(folder, command.split(" > ")[-1])
    assert hits is not None or run.stdout or written.is_file() and written.stat().st_size > 0, command


def main() -> None:
    repository, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    if shutil.which("redis-server") is None or os.uname().machine != "x86_64":
        sys.exit(77)
    text = (repository / "docs/probes.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 13, blocks
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
    port = free_port()
    server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"],
                              stdout=subprocess.DEVNULL)
    is_over = threading.Event()
    requests = threading.Thread(target=send_requests, args=(port, is_over))
    try:
        connect(port).close()
        requests.start()
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "slow-orders.lwp").write_text("place_order @return if duration > 1ms { count by caller }")
            for block in blocks:
                check(block, server.pid, folder, environment)
            assert list(pathlib.Path(folder).glob("*.perfetto-trace")) != [], "--perfetto has written nothing"
    finally:
        is_over.set()
        if requests.is_alive():
            requests.join()
        server.terminate()
        server.wait()
    commands = [["lagwatch", "probe"], ["lagwatch", "run"], ["lagwatch", "probe-list"], ["lagwatch-collector"]]
    help_text = "".join(subprocess.check_output([*command, "--help"], env=environment, text=True) for command in commands)
    for option in set(re.findall(r"`(--[\w-]+)", text)):
        assert option in help_text, f"docs/probes.md tells of {option}, which there is not"


if __name__ == "__main__":
    main()
