# SPDX-License-Identifier: Apache-2.0
"""Loops that freeze because another process does not answer, and what their reports say of that process.

`run_all` builds across.c, runs each of its scenes under `lagwatch run`, and compares the chain of waits of the report:
the kind of the last wait, the process that is waited for last, and a function on the stack of the thread that should
answer. Deadlocks must be called deadlocks, and nothing else.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from real import Collector, until

FOLDER = pathlib.Path(__file__).resolve().parent
BUS = FOLDER.parents[2] / "tests" / "tools" / "run"
THRESHOLD_MS = 300
LONGEST_S = 8  # deadlocks last
DISPLAY = ":95"

# Scene: (kind of the last wait, number of waits, the function that the answering thread is in, its name).
SCENES = {
    "pipe": ("pipe", 1, "PipeAnswer", "answering"),
    "full-pipe": ("pipe", 1, "DrainSlowly", "answering"),
    "fifo": ("pipe", 1, "FifoAnswer", "answering"),
    "socket-pair": ("unix-socket", 1, "ComputeSlowly", "answering"),
    "unix": ("unix-socket", 1, "ReadSlowly", "answering"),
    "unix-unaccepted": ("unix-socket", 1, "ServeLate", "answering"),
    "tcp": ("connection", 1, "ReadSlowly", "answering"),
    "tcp-unaccepted": ("connection", 1, "ServeLate", "answering"),
    "tcp-worker": ("connection", 1, "ComputeSlowly", "worker"),
    "lock-in-peer": ("mutex", 2, "KeepLock", "answering"),
    "child": ("child", 1, "ComputeSlowly", "answering"),
    "vfork": ("child", 1, "ReadSlowly", "answering"),
    "flock": ("file-lock", 1, "KeepFile", "answering"),
    "posix-lock": ("file-lock", 1, "KeepFile", "answering"),
    "ofd-lock": ("file-lock", 1, "KeepFile", "answering"),
    "shared-mutex": ("mutex", 1, "KeepSharedLock", "answering"),
    "chain": ("unix-socket", 2, "ComputeSlowly", "answering"),
    "idle": ("unix-socket", 1, None, "answering"),
    "stopped": ("unix-socket", 1, None, "answering"),
    "deadlock-of-two": ("file-lock", 2, "WaitInHandler", "across"),
    "deadlock-of-three": ("file-lock", 3, "WaitInHandler", "across"),
}


def faults(report, scene):
    """The fault of the report's chain of waits; empty if there is none."""
    kind, count, function, name = SCENES[scene]
    waits = report["waits"]
    if len(waits) != count:
        return f"{len(waits)} waits, not {count}"
    if not any(frame.get("function") == "WaitInHandler" for frame in waits[0]["stack"]):
        return "the first stack is not the handler's"
    last = waits[-1]
    if last["kind"] != kind:
        return f"it waits for {last['kind']}"
    if report["deadlock"] != scene.startswith("deadlock"):
        return "deadlock: " + str(report["deadlock"])
    owner = last["owner"]
    if owner["name"] != name:
        return f"the thread is {owner['name']}"
    if (owner.get("idle") or False) != (scene == "idle"):
        return f"idle: {owner.get('idle')}"
    if scene == "stopped":
        return "" if owner.get("state") == "T" else f"its state is {owner.get('state')}"
    functions = [frame.get("function") for frame in owner["stack"]]
    return "" if function is None or function in functions else f"it is at {functions[:6]} ({owner.get('state')})"


def run(scene, lagwatch, program):
    with tempfile.TemporaryDirectory() as directory:
        spool = pathlib.Path(directory) / "spool"
        command = [lagwatch, "run", "--threshold-ms", str(THRESHOLD_MS), "--spool", spool, "--", program, scene]
        try:
            subprocess.run(command, timeout=LONGEST_S, env=os.environ | {"TMPDIR": directory}, check=False)
        except subprocess.TimeoutExpired:
            pass
        ask = lambda *what: json.loads(
            subprocess.run([lagwatch, *what, "--spool", spool, "--json"], capture_output=True, text=True).stdout or "[]")
        reports = [ask("report", header["id"]) for header in ask("reports") if header["app"] == "across"]
        wrong = [faults(report, scene) for report in reports] or ["no report"]
        print(f"{'named ' if '' in wrong else 'MISSED'} across {scene:18} {' | '.join(filter(None, wrong))}", file=sys.stderr)
        return "" in wrong


def tell(scene, header, collector, pictures):
    """Whether there is a right report, `header`; takes a picture of it."""
    print(f"{'named ' if header else 'MISSED'} across {scene}", file=sys.stderr)
    if header and pictures is not None:
        subprocess.run(["node", FOLDER.parent / "picture.mjs", collector.url, collector.token, header["id"], pictures, "report-" + scene],
                       check=True)
    return header is not None


def run_bus(binaries, pictures):
    """A GTK program that calls a D-Bus service, which waits for a lock that flock(1) has; its report comes from a collector."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:  # an uploader may still write there
        directory = pathlib.Path(temporary)
        collector = Collector(directory, binaries)
        environment = os.environ | {"LAGWATCH_ENDPOINT": collector.url, "LAGWATCH_KEY": collector.key, "LAGWATCH_TOKEN": collector.token,
                                    "DBUS_SESSION_BUS_ADDRESS": f"unix:path={directory}/bus", "DISPLAY": DISPLAY}
        start = lambda *command: subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes = [start("dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={directory}/bus"),
                     start("flock", "--close", directory / "lock", "sleep", "8"),
                     start("Xvfb", DISPLAY, "-nolisten", "tcp")]
        until(10, lambda: (directory / "bus").exists() and os.path.exists("/tmp/.X11-unix/X" + DISPLAY[1:]))
        service = start("/usr/bin/python3", BUS / "bus_service.py", directory / "lock")
        processes.append(service)
        try:
            time.sleep(1)  # the service has its name
            processes.append(start(binaries / "lagwatch", "run", "--app", "bus", "--threshold-ms", "500", "--spool", directory / "spool",
                                   "--", "/usr/bin/python3", FOLDER / "gtk_program.py", directory / "flag", "bus"))
            time.sleep(2)  # its loop is known
            (directory / "flag").touch()
            ask = lambda *what: json.loads(
                subprocess.run([binaries / "lagwatch", *what, "--json"], capture_output=True, env=environment).stdout or "[]")

            def right():
                for header in ask("reports"):
                    report = ask("report", header["id"])
                    waits = report["waits"]
                    if ([wait["kind"] for wait in waits][:2] == ["bus-call", "file-lock"]
                            and waits[0]["owner"]["process"]["pid"] == service.pid
                            and any("flock" in (frame.get("function") or "") for frame in waits[0]["owner"]["stack"])
                            and waits[1]["owner"]["process"]["name"] == "flock"):
                        return header
                return None
            return tell("bus-service-at-lock", until(20, right), collector, pictures)
        finally:
            for process in processes:
                process.kill()
            collector.stop()


def run_gtk(binaries, pictures):
    """A GTK program whose X server stands still; its report comes from a collector."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        directory = pathlib.Path(temporary)
        collector = Collector(directory, binaries)
        environment = os.environ | {"LAGWATCH_ENDPOINT": collector.url, "LAGWATCH_KEY": collector.key,
                                    "LAGWATCH_TOKEN": collector.token, "DISPLAY": DISPLAY}
        server = subprocess.Popen(["Xvfb", DISPLAY, "-nolisten", "tcp"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(10, lambda: os.path.exists("/tmp/.X11-unix/X" + DISPLAY[1:]))
        program = subprocess.Popen([binaries / "lagwatch", "run", "--app", "gtk", "--threshold-ms", "500", "--spool", directory / "spool",
                                    "--", "/usr/bin/python3", FOLDER / "gtk_program.py", directory / "flag"], env=environment)
        try:
            time.sleep(3)
            server.send_signal(signal.SIGSTOP)
            (directory / "flag").touch()
            time.sleep(2)
            server.send_signal(signal.SIGCONT)
            ask = lambda *what: json.loads(
                subprocess.run([binaries / "lagwatch", *what, "--json"], capture_output=True, env=environment).stdout or "[]")

            def right():
                for header in ask("reports"):
                    report = ask("report", header["id"])
                    wait = (report["waits"] or [{}])[0]
                    owner = wait.get("owner") or {}
                    functions = [(frame.get("function") or "").split(" (")[0] for frame in wait.get("stack") or []]
                    if (wait.get("kind") == "display" and owner["process"]["name"] == "Xvfb" and owner["state"] == "T"
                            and "redraw_now" in functions):
                        return header
                return None
            return tell("gtk-stopped-display", until(20, right), collector, pictures)
        finally:
            program.kill()
            server.kill()
            collector.stop()


def run_all(binaries, only, pictures):
    """Whether each scene's report is right. `only`: a part of the scenes' names; `pictures`: a folder, or None."""
    scenes = [scene for scene in SCENES if only in scene or only in "across"]
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "across"
        subprocess.run(["cc", "-g", "-O1", "-o", program, FOLDER / "across.c", "-pthread"], check=True)
        outcomes = [run(scene, binaries / "lagwatch", program) for scene in scenes]
    has_gtk = subprocess.run(["/usr/bin/python3", "-c", "import gi; gi.require_version('Gtk', '3.0')"],
                             capture_output=True).returncode == 0
    if has_gtk and only in "across gtk":
        outcomes.append(run_gtk(binaries, pictures))
    if has_gtk and only in "across bus":
        outcomes.append(run_bus(binaries, pictures))
    return outcomes
