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
import shutil
import subprocess
import sys
import tempfile

# The tag of the hang's report, and a function of its stack.
EXPECTED = {"glib": ("Save", "Save"), "qt": ("QSingleShotTimer::Timer", "main"), "libuv": ("", "OnTimer"), "libevent": ("", "OnTimer"),
            "libev": ("", "OnTimer"), "sd_event": ("", "OnDeferred"), "sdl": ("", "main"), "asio": ("OnRequest", "OnRequest"),
            "event_base": ("WriteJournal", "WriteJournal"), "reactor": ("tasks", "Reactor"), "message_pump": ("LoadPage", "MessagePump"),
            "game": (None, "Work"), "qml": (None, "DrawFrame")}  # of a frame
MOST_LINES = 10


def ask(lagwatch, spool, *question):
    done = subprocess.run([lagwatch, *question, "--spool", spool, "--json"], text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def check(lagwatch, program, home):
    name = pathlib.Path(program).name.removeprefix("sample_")
    state = home / name
    state.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LAGWATCH_")}
    command = [program]
    if name == "qml":  # its other thread draws by OpenGL
        if shutil.which("xvfb-run") is None:
            return
        command = ["xvfb-run", "-a", program]
        state.chmod(0o700)
        environment["XDG_RUNTIME_DIR"] = str(state)
    subprocess.run(command, env=dict(environment, HOME=str(state), XDG_STATE_HOME=str(state)), check=True, timeout=30)
    spool = state / "lagwatch/spool"
    reports = [ask(lagwatch, spool, "report", header["id"]) for header in ask(lagwatch, spool, "reports")]
    tag, function = EXPECTED[name]
    if tag is None:
        assert {report["kind"] for report in reports} == {"frames"}, f"{name}: {[report['kind'] for report in reports]}"
        slow = [report for report in reports if function in json.dumps(report["expensive_stack"])]
        assert slow, f"{name}: {[report['expensive_stack'] for report in reports]}"
        check_frames(name, slow[0], ask(lagwatch, spool, "frames"))
        return
    assert len(reports) == 1, f"{name}: {[(report['kind'], report.get('tag')) for report in reports]}"
    assert reports[0].get("tag", "") == tag, f"{name}: tag {reports[0].get('tag')!r}"
    assert function in json.dumps(reports[0]["expensive_stack"]), f"{name}: {reports[0]['expensive_stack']}"


def check_frames(name, slow, frames):
    facts = slow["facts"]
    assert facts["frame_stage"] == "draw", f"{name}: {facts}"
    assert len(frames) == 1, f"{name}: {frames}"
    stages = frames[0]["stage_ms"]
    assert max(stages, key=stages.get) == "draw" and frames[0]["dropped"] >= 40, f"{name}: {frames}"
    if name == "game":  # what its stages last at least, of 200 frames
        assert frames[0]["frames"] == 200, frames
        for stage, least_ms in (("input", 200), ("animation", 400), ("draw", 2196), ("submit", 200)):
            assert stages[stage] >= least_ms, f"{stage}: {stages}"
    else:
        assert slow["loop"] == "render" and slow["tid"] != slow["pid"], f"{name}: {slow['loop']}"


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
