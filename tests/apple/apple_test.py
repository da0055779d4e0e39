#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a scene of the Apple binding's test programs on GNUstep, and checks the reports that it leaves in the spool.

Usage: apple_test.py SCENE DIRECTORY_OF_PROGRAMS
"""
import contextlib
import json
import os
import pathlib
import plistlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

THRESHOLD_MS = 400


class Scene:
    def __init__(self, programs: str, home: pathlib.Path):
        self.home, self.spool = home, home / "spool"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LAGWATCH_")}
        kept.pop("XDG_STATE_HOME", None)
        self.environment = dict(kept, HOME=str(home), PATH=f"{programs}:{os.environ['PATH']}", LANG="C.UTF-8")

    def run(self, *command) -> str:
        result = subprocess.run([str(word) for word in command], cwd=self.home, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        assert result.returncode == 0, f"{command} exited with {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    def reports(self) -> list[dict]:
        """Reports in the spool, in the order in which their hangs began; each with its whole text."""
        reports = json.loads(self.run("lagwatch", "reports", "--spool", self.spool, "--json"))
        for report in reports:
            report["text"] = self.run("lagwatch", "report", "--spool", self.spool, report["id"])
        return sorted(reports, key=lambda report: report["start_wall_ms"])


def check(reports: list[dict], expected: list[tuple[str, str, str]]) -> None:
    """Each hang is reported once, in this order, as its kind, in one of the modes, with its function in the stack."""
    found = [(report["kind"], report["tag"]) for report in reports]
    assert len(found) == len(expected), found
    for (kind, tag), (expected_kind, tags, _) in zip(found, expected):
        assert kind == expected_kind and tag in tags.split(), found
    for report, (_, _, function) in zip(reports, expected):
        assert function in report["text"], f"{function} is missing from\n{report['text']}"
        assert report["ended"] and report["duration_ms"] >= THRESHOLD_MS, report


def run_loop_hangs(scene: Scene) -> None:
    scene.run("apple_run_loop_program", "hangs", scene.spool, THRESHOLD_MS)
    reports = scene.reports()
    check(reports, [
        ("lag", "NSDefaultRunLoopMode", "freezeInTimer"),
        ("lag", "NSDefaultRunLoopMode", "waitInPrivateMode"),
        ("lag", "NSDefaultRunLoopMode", "pollInHandler"),
        ("lag", "NSModalPanelRunLoopMode", "freezeNested"),
    ])


def run_loop_calm(scene: Scene) -> None:
    output = scene.run("apple_run_loop_program", "calm", scene.spool, THRESHOLD_MS)
    assert int(output.split()[1]) > 50, output
    check(scene.reports(), [])


def run_loop_frames(scene: Scene) -> None:
    scene.run("apple_run_loop_program", "frames", scene.spool, THRESHOLD_MS)
    [report] = scene.reports()
    assert report["kind"] == "frames" and "drawSlowly" in report["text"], report["text"]
    assert "drawing" in report["text"], report["text"]


@contextlib.contextmanager
def display():
    """An X server of its own, with a free number."""
    numbers, other_end = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(other_end), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
                              pass_fds=[other_end], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(other_end)
    try:
        with os.fdopen(numbers) as pipe:
            yield ":" + pipe.readline().strip()
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def collector(scene: Scene):
    """A collector; yields a function that asks it, its URL and its key."""
    data = scene.home / "data"
    server = subprocess.Popen(["lagwatch-collector", "--listen", "127.0.0.1:0", "--data", data], env=scene.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().split()[-1]

        def ask(path: str):
            token = (data / "admin-token").read_text().strip()
            request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
            return json.load(urllib.request.urlopen(request, timeout=30))

        yield ask, url, (data / "key").read_text().strip()
    finally:
        server.terminate()
        server.wait()


def run_application(scene: Scene, **settings: str) -> str:
    """Runs the application, clicks when it asks for a click, and returns what it printed. The first click may only
    activate the window: there is no window manager."""
    with display() as name:
        scene.environment.update(DISPLAY=name, SPOOL=str(scene.spool), THRESHOLD_MS=str(THRESHOLD_MS), **settings)
        with open(scene.home / "errors", "w+") as errors:
            program = subprocess.Popen(["timeout", "30", "apple_application_program"], cwd=scene.home,
                                       env=scene.environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=errors)
            printed = ""
            try:
                for line in program.stdout:
                    printed += line
                    if line == "click\n":
                        [window] = scene.run("xdotool", "search", "--name", "^Freezer$").split()[:1]
                        scene.run("xdotool", "mousemove", "--window", window, 150, 100, "click", "--repeat", 2,
                                  "--delay", 300, 1)
            finally:
                program.wait()
            errors.seek(0)
            assert program.returncode == 0, f"exited with {program.returncode}\n{printed}{errors.read()}"
    return printed


# The button is let go at once: on a busy machine that is known before its press is looked at, and nothing is tracked.
APPLICATION_HANGS = [
    ("startup-lag", "launch", "freezeInLaunch"),
    ("lag", "NSEventTrackingRunLoopMode NSDefaultRunLoopMode", "freezeInClick"),
    ("lag", "NSModalPanelRunLoopMode", "freezeInPanel"),
]


def application(scene: Scene) -> None:
    assert run_application(scene).startswith("last exit -1\n")
    reports = scene.reports()
    [start] = [report for report in reports if report["kind"] == "startup"]
    assert "ready_ms" in start["text"] and "before_ready  1" in start["text"], start["text"]
    check([report for report in reports if report != start], APPLICATION_HANGS)


def application_sends(scene: Scene) -> None:
    with collector(scene) as (ask, url, key):
        run_application(scene, ENDPOINT=url, KEY=key)
        causes = ask("/v1/clusters")
    named = {frame for cause in causes for frame in cause["frames"]}
    for _, _, function in APPLICATION_HANGS:
        assert any(function in frame for frame in named), causes


def uikit(scene: Scene) -> None:
    """The sample's delegate for iOS, with the notifications of UIKit; killed in a hang, then started in the background."""
    scene.spool = scene.home / ".local/state/lagwatch/spool"
    scene.environment["https_proxy"] = "http://127.0.0.1:9"  # the sample's collector is never asked

    def run(events: str) -> None:
        scene.environment["LAGWATCH_UIKIT_EVENTS"] = events
        program = subprocess.run(["apple_uikit_program"], env=scene.environment, stdin=subprocess.DEVNULL, timeout=60)
        assert program.returncode == -signal.SIGKILL, program

    run("UIApplicationDidBecomeActive UIApplicationDidReceiveMemoryWarning thermal=2 UIApplicationDidEnterBackground "
        "freeze UIApplicationWillEnterForeground thermal=0 killed")
    run("state=2 UIApplicationDidEnterBackground")
    background, killed = scene.reports()
    assert background["kind"] == "lag" and "freezeInEvent" in background["text"], background["text"]
    for fact in ("foreground  0", "app.memory_warnings  1", "app.thermal_state  serious"):
        assert f"  {fact}\n" in background["text"], background["text"]
    assert killed["kind"] == "killed-in-hang" and "hangUntilKilled" in killed["text"], killed["text"]
    assert "  foreground  1\n" in killed["text"] and "thermal" not in killed["text"], killed["text"]


def frame(name: str, uuid: str, offset: int, samples: int, *inner: dict) -> dict:
    return {"binaryName": name, "binaryUUID": uuid, "offsetIntoBinaryTextSegment": offset, "address": 0x102000000 + offset,
            "sampleCount": samples, "subFrames": list(inner)}


EDITOR = "8F3C1A2B-4D5E-3F60-8172-93A4B5C6D7E8"
PAYLOAD = {
    "timeStampBegin": "2026-11-24 00:00:00 +0000", "timeStampEnd": "2026-11-24 23:59:00 +0000",
    "crashDiagnostics": [{"version": "1.0.0"}],
    "hangDiagnostics": [
        {"version": "1.0.0",
         "diagnosticMetaData": {"hangDuration": "20 sec", "appVersion": "2.3.1", "appBuildVersion": "45",
                                "osVersion": "iPhone OS 18.1 (22B83)", "deviceType": "iPhone15,2",
                                "platformArchitecture": "arm64e"},
         "callStackTree": {"callStackPerThread": True, "callStacks": [
             {"threadAttributed": True, "callStackRootFrames": [
                 frame("Editor", EDITOR, 0x4f10, 20, frame("Editor", EDITOR, 0x6000, 4),
                       frame("Editor", EDITOR, 0x8124, 16, frame("Editor", EDITOR, 0x9000, 15)))]}]}},
        {"version": "1.0.0", "callStackTree": "unreadable"}, "nor is this"]}


def metrickit(scene: Scene) -> None:
    """A payload of MetricKit, read twice, is one report of the collector, with the heaviest path as its stack."""
    def read(endpoint: str, key: str, payload: object) -> list[str]:
        result = subprocess.run(["apple_hang_diagnostics_program", endpoint, key], env=scene.environment, text=True,
                                input=json.dumps(payload), capture_output=True, timeout=60)
        assert result.returncode == 0, result.stderr
        return result.stdout.split("\n", 2)

    assert read("file:///tmp", "k", PAYLOAD)[0] == ""
    for other in ({}, [], {"hangDiagnostics": {}}, {"hangDiagnostics": [{"callStackTree": {"callStacks": [3]}}]}):
        assert read("https://a.example.com/", "k", other)[2] == "", other
    with collector(scene) as (ask, url, key):
        for _ in range(2):
            address, authorization, envelope = read(url, key, PAYLOAD)
            request = urllib.request.Request(address, envelope.encode(), {"X-Sentry-Auth": authorization})
            assert urllib.request.urlopen(request, timeout=30).status == 200
        [report] = ask("/v1/reports")
        whole = ask("/v1/reports/" + report["id"])
    assert report["duration_ms"] == 20000 and report["version"] == "2.3.1" and report["user"] == "u-1", report
    path = [(frame["build_id"], frame["offset"]) for frame in whole["expensive_stack"]]
    build_id = EDITOR.replace("-", "").lower()
    # Callers' addresses are moved into the call.
    assert path == [(build_id, "0x9000"), (build_id, "0x8123"), (build_id, "0x4f0f")], path


def docs(scene: Scene) -> None:
    """docs/apple.md: its Swift and Objective-C are the samples', its sh block runs; the packages' files are there."""
    repository = pathlib.Path(__file__).resolve().parents[2]
    page = (repository / "docs/apple.md").read_text()

    def blocks(language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    for language, sample in (("swift", "AppDelegate.swift"), ("objc", "AppDelegate.m")):
        [block] = blocks(language)
        assert block in (repository / "samples/apple/ios" / sample).read_text(), f"the page differs from {sample}"
    with display() as scene.environment["DISPLAY"]:
        [script] = blocks("sh")
        causes = scene.run("bash", "-euc", script)
    assert "-[AppDelegate freeze:]" in causes, causes
    for link in re.findall(r"\]\(([^)#:]+)\)", page):
        assert (repository / "docs" / link).exists(), f"docs/apple.md links to {link}, which is not there"

    package = repository / "sdk/apple"
    [excluded] = re.findall(r"exclude: \[(.*?)\]", (package / "Package.swift").read_text(), re.DOTALL)
    for name in re.findall(r'"(.*?)"', excluded):
        assert (package / name).exists(), name
    with open(package / "PrivacyInfo.xcprivacy", "rb") as manifest:
        assert plistlib.load(manifest)["NSPrivacyTracking"] is False


SCENES = {scene.__name__: scene for scene in (
    run_loop_hangs, run_loop_calm, run_loop_frames, uikit, application, application_sends, metrickit, docs)}


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        SCENES[sys.argv[1]](Scene(sys.argv[2], pathlib.Path(home)))


if __name__ == "__main__":
    main()
