#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of samples/loops: each reports its one hang, with its tag and its function, and has at most ten lines for lagwatch.

Usage: samples_test.py REPOSITORY LAGWATCH SAMPLE…
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# The tag of the hang's report, and a function of its stack.
EXPECTED = {"glib": ("Save", "Save"), "qt": ("QSingleShotTimer::Timer", "main"), "libuv": ("", "OnTimer"), "libevent": ("", "OnTimer"),
            "libev": ("", "OnTimer"), "sd_event": ("", "OnDeferred"), "sdl": ("", "main"), "asio": ("OnRequest", "OnRequest"),
            "event_base": ("WriteJournal", "WriteJournal"), "reactor": ("tasks", "Reactor"), "message_pump": ("LoadPage", "MessagePump"),
            "game": (None, None)}  # its frames are counted
MOST_LINES = 10


def ask(lagwatch, spool, *question):
    done = subprocess.run([lagwatch, *question, "--spool", spool, "--json"], text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def check(lagwatch, program, home):
    name = pathlib.Path(program).name.removeprefix("sample_")
    state = home / name
    state.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LAGWATCH_")}
    subprocess.run([program], env=dict(environment, HOME=str(state), XDG_STATE_HOME=str(state)), check=True, timeout=30)
    spool = state / "lagwatch/spool"
    reports = [ask(lagwatch, spool, "report", header["id"]) for header in ask(lagwatch, spool, "reports")]
    tag, function = EXPECTED[name]
    if tag is None:
        assert any(report["kind"] == "frames" for report in reports), f"{name}: {[report['kind'] for report in reports]}"
        return
    assert len(reports) == 1, f"{name}: {[(report['kind'], report.get('tag')) for report in reports]}"
    assert reports[0].get("tag", "") == tag, f"{name}: tag {reports[0].get('tag')!r}"
    assert function in json.dumps(reports[0]["expensive_stack"]), f"{name}: {reports[0]['expensive_stack']}"


def check_lines(source):
    lines = [line for line in source.read_text().splitlines() if re.search(r"lw_|lagwatch|LW_|options|loop_?\.(Wait|Turn)|frame\.", line)]
    lines = [line for line in lines if not line.lstrip().startswith(("//", "/*"))]
    assert len(lines) <= MOST_LINES, f"{source.name}: {len(lines)} lines\n" + "\n".join(lines)


def main():
    repository, lagwatch, programs = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    documents = (repository / "docs/loops.md").read_text()
    for source in sorted((repository / "samples/loops").glob("*.c*")):
        check_lines(source)
        assert f"../samples/loops/{source.name}" in documents, f"docs/loops.md does not lead to {source.name}"
        assert source.stem in EXPECTED, source.name
    with tempfile.TemporaryDirectory() as home, concurrent.futures.ThreadPoolExecutor(len(programs)) as pool:
        for checked in [pool.submit(check, lagwatch, program, pathlib.Path(home)) for program in programs]:
            checked.result()


if __name__ == "__main__":
    main()
