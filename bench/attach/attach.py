#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to real programs while they run, and detaches. Programs that are not installed are left out.

Each program ticks (prints, or answers a question) before, while and after it is attached: `programs`, `attached`,
`refused_with_reason`, `watched_outside` (of these), `harmed` (did not go on as before). By the command,
one thread was stopped for `stop_ms_p50` and `stop_ms_p99` at most, its wait for a processor included. Then:

  freezes   programs that freeze (freezes/) once they are attached: freezes, found (with a report of their own), blamed (its word,
            function and other side are right), freezing_programs, freezing_false (reports at other times); freezing_refused of them cannot be attached, freezing_refused_with_reason
  soak      many cycles against a program under load: soak_cycles, soak_failed, soak_alive, and since the tenth part
            soak_descriptors_grown and soak_mappings_grown
  changes   programs that exec, fork, pause and wait with a timeout, attached at a random moment: changing, changing_harmed;
            commands that are killed: killed, left_threads, killed_harmed
  beats     a program's own heartbeats, idle and (loaded_…) beside four compilers: beat_gap_ms_p50 and beat_gap_ms_p99, the
            longest time by which one was late while the program was attached; beat_stop_ms_p50 and _p99 without the time in
            which it waited for a processor, to compare with stop_ms_…; bystander_… of the same program beside it that was left alone; bare_… when nothing happened
"""
import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import freezes.freezing
from freezes.freezing import freezing
from freezes.judge import Count
from harness import suite
from harness.lagwatch import Lagwatch
from harness.processes import compiled
from measured_programs import HERE, measure_beats, measure_changes
from programs import PACKAGES as TICKING_PACKAGES
from programs import AttachedProgram, programs

PACKAGES = sorted({*TICKING_PACKAGES, *freezes.freezing.PACKAGES})
TARGETS = ["lagwatch-cli", "lagwatch_preload", "lagwatch_jvm"]


class Attacher(Lagwatch):
    """The commands, and the times for which they stopped a thread."""

    def __init__(self, binaries: pathlib.Path, work: pathlib.Path):
        super().__init__(binaries, work / "spool")
        self.stops_ms = []

    def run(self, *words: object) -> subprocess.CompletedProcess:
        done = self.call(*words)
        stop = re.search(r"stopped for at most (\d+) µs", done.stdout)
        if stop:
            self.stops_ms.append(int(stop[1]) / 1000)
        return done

    def start(self, command: str, pid: int) -> subprocess.Popen:
        flags = self.spool if command == "attach" else []
        return subprocess.Popen([self.program, command, str(pid), *flags], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def attach(self, pid: int) -> subprocess.CompletedProcess:
        return self.run("attach", pid, "--threshold-ms", "2000", *self.spool)

    def detach(self, pid: int) -> subprocess.CompletedProcess:
        return self.run("detach", pid)

    def watches(self, pid: int) -> bool:
        watcher = subprocess.Popen([self.program, "watch", str(pid), *self.spool], stderr=subprocess.PIPE)
        time.sleep(1)
        watcher.send_signal(signal.SIGINT)
        return watcher.wait(20) == 0


def state_of(pid: int) -> dict:
    process = pathlib.Path(f"/proc/{pid}")
    return {"descriptors": len(list((process / "fd").iterdir())),
            "mappings": len((process / "maps").read_text().splitlines())}


def measure_programs(lagwatch: Attacher, work: pathlib.Path, binaries: pathlib.Path, cycles: int) -> dict:
    counts = {"programs": 0, "attached": 0, "watched_outside": 0, "refused_with_reason": 0, "harmed": 0}
    for name, command in programs(work, binaries).items():
        with AttachedProgram(name, command, work) as program:
            if not program.ticks():
                suite.progress(f"{name}: does not run here")
                continue
            counts["programs"] += 1
            is_harmed, note = False, "attached"
            for cycle in range(cycles):
                attached = lagwatch.attach(program.pid)
                if attached.returncode != 0:
                    note = attached.stderr.strip()
                    counts["refused_with_reason"] += "watch" in note
                    counts["watched_outside"] += lagwatch.watches(program.pid)
                    break
                is_harmed = is_harmed or not program.ticks()
                detached = lagwatch.detach(program.pid)
                is_harmed = is_harmed or detached.returncode != 0 or not program.ticks()
                if detached.returncode != 0:
                    note = "detach: " + detached.stderr.strip()
            else:
                counts["attached"] += 1
            is_harmed = is_harmed or not program.ticks()
            counts["harmed"] += is_harmed
            suite.progress(f"{name}: {note}{' HARMED' if is_harmed else ''}")
    return counts


def measure_freezes(binaries: pathlib.Path, work: pathlib.Path, only: str) -> dict:
    count, refused, with_reason = Count(suite.progress), 0, 0
    for program in freezing(work):
        if only not in program.name:
            continue
        program.start(work)
        time.sleep(1.5)  # its start is no freeze
        with contextlib.closing(program):
            lagwatch = Lagwatch(binaries, work / f"freezes-{program.name}")
            attached = lagwatch.call("attach", program.pid, "--threshold-ms", "500", *lagwatch.spool)
            if attached.returncode != 0:
                refused += 1
                with_reason += "lagwatch watch" in attached.stderr
                suite.progress(f"refused {program.name}: {attached.stderr.strip()}")
                continue
            time.sleep(2)
            count.freeze_all(program, lagwatch)
            lagwatch.call("detach", program.pid)
    return count.figures("freezing_") | {"freezing_refused": refused, "freezing_refused_with_reason": with_reason}


def soak(lagwatch: Attacher, work: pathlib.Path, cycles: int) -> dict:
    with AttachedProgram("soak", [compiled(HERE / "soak_program.c", work / "soak", "-ldl")], work) as program:
        program.ticks()
        failed, middle = 0, None
        for cycle in range(cycles):
            if lagwatch.attach(program.pid).returncode != 0 or lagwatch.detach(program.pid).returncode != 0:
                failed += 1
            if program.process.poll() is not None:
                break
            if cycle == cycles // 10:
                time.sleep(0.2)
                middle = state_of(program.pid)
        is_alive = program.ticks()
        grown = {key: state_of(program.pid)[key] - middle[key] for key in middle} if is_alive and middle else {}
        is_clean = "child failed" not in program.output.read_text()
    return {"soak_cycles": cycle + 1, "soak_failed": failed, "soak_alive": is_alive and is_clean,
            "soak_descriptors_grown": grown.get("descriptors"), "soak_mappings_grown": grown.get("mappings")}


def main() -> int:
    options = suite.parser(__doc__, only="a part of the names of the programs that freeze")
    options.add_argument("--freezes-only", action="store_true", help="measure nothing else")
    options.add_argument("--cycles", type=int, default=5, help="attachments of each program")
    options.add_argument("--soak", type=int, default=500, help="attachments of the soak")
    options.add_argument("--changes", type=int, default=100, help="attachments of each program that changes, and kills")
    options.add_argument("--beats", type=int, default=100, help="attachments of a program that measures its heartbeat, "
                                                                "idle and under load each")
    arguments = suite.parse(options)
    with suite.work_directory() as work:
        frozen = measure_freezes(arguments.bin, work, arguments.only)
        if arguments.freezes_only:
            return suite.result(frozen)
        lagwatch = Attacher(arguments.bin, work)
        figures = frozen | measure_programs(lagwatch, work, arguments.bin, arguments.cycles)
        figures |= soak(lagwatch, work, arguments.soak)
        figures |= {"stops": len(lagwatch.stops_ms), "stop_ms_p50": suite.percentile(lagwatch.stops_ms, 50),
                    "stop_ms_p99": suite.percentile(lagwatch.stops_ms, 99)}
        figures |= measure_changes(lagwatch, work, arguments.changes)
        figures |= measure_beats(lagwatch, work, arguments.beats)
    return suite.result(figures)


if __name__ == "__main__":
    sys.exit(main())
