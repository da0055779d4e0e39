#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the sh blocks of docs/api.md and docs/operations.md, in their order, against a collector with reports.

Usage: docs_examples_test.py REPOSITORY DIRECTORY_OF_PROGRAMS
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

CURL_TIMED_OUT = 28


def blocks(text: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Scene:
    """A collector with the reports of a sample that froze."""

    def __init__(self, programs: str, home: pathlib.Path):
        self.home, self.data = home, home / "data"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAGWATCH_")}
        self.environment = dict(environment, HOME=str(home), PATH=f"{programs}:{os.environ['PATH']}",
                                DATA=str(self.data), NEW_DATA=str(home / "new-data"), BACKUP=str(home / "backup"))
        self.collector = subprocess.Popen(
            ["lagwatch-collector", "--listen", "127.0.0.1:0", "--data", self.data], env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = self.collector.stdout.readline().split()[-1]
        self.environment.update(COLLECTOR=url)

    def fill(self):
        url = self.environment["COLLECTOR"]
        spool = self.home / "spool"
        self.run(f"""
            deadlock 2 300 {spool}
            # What froze here has a trace, too.
            lagwatch run --trace --threshold-ms 300 --spool {spool} -- \\
              redis-server --port 0 --unixsocket $HOME/redis.sock --save '' --enable-debug-command yes >redis.log &
            for i in {{1..100}}; do redis-cli -s $HOME/redis.sock ping >/dev/null 2>&1 && break; sleep 0.1; done
            redis-cli -s $HOME/redis.sock debug sleep 1
            sleep 1
            redis-cli -s $HOME/redis.sock shutdown
            wait
            lagwatch upload --spool {spool} --endpoint {url} --key $(cat $DATA/key)""")
        self.environment["KEY"] = self.ask("/v1/clusters")[0]["key"]
        self.run("curl -sSf -X PUT -H \"Authorization: Bearer $(cat $DATA/admin-token)\" "
                 f"-H 'Content-Type: application/json' {url}/v1/admin/config -d '{{}}'")
        self.environment["VERSION"] = str(self.ask("/v1/admin/config")["version"])

    def ask(self, path: str):
        token = (self.data / "admin-token").read_text().strip()
        request = urllib.request.Request(self.environment["COLLECTOR"] + path,
                                         headers={"Authorization": f"Bearer {token}"})
        return json.load(urllib.request.urlopen(request, timeout=30))

    def run(self, script: str, code: int = 0) -> str:
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.home, env=self.environment,
                                text=True, stdin=subprocess.DEVNULL, capture_output=True)
        assert result.returncode == code, f"{script}\nexited with {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout


def main() -> None:
    repository, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as home:
        scene = Scene(programs, pathlib.Path(home))
        try:
            scene.fill()
            [set_up, *questions] = blocks((repository / "docs/api.md").read_text())
            for question in questions:
                # A listener runs until curl's time is over.
                is_endless = "api -N" in question
                script = set_up + question.replace("api -N", "api -N --max-time 1")
                scene.run(script, CURL_TIMED_OUT if is_endless else 0)
            for script in blocks((repository / "docs/operations.md").read_text()):
                scene.run(script)
            [cluster] = scene.ask("/v1/clusters?state=fixed")
            assert cluster["fixed_in"] == "2.5", cluster
            assert (scene.home / "causes.csv").read_text().startswith("key,level,"), "causes.csv"
            assert (scene.home / "new-data/collector.db").exists()
        finally:
            scene.collector.terminate()
            scene.collector.wait()


if __name__ == "__main__":
    main()
