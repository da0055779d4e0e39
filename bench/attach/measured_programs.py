# SPDX-License-Identifier: Apache-2.0
"""Programs that measure, and programs that change, while they are attached."""
import contextlib
import os
import pathlib
import random
import subprocess
import time

from harness.processes import compiled, running
from harness.suite import ROOT, percentile

HERE = pathlib.Path(__file__).parent
CHANGING = ROOT / "tests/tools/run/changing_program.c"
SCENES = ["epoll", "exec", "fork", "pause", "poll", "sleep"]


class AnsweringProgram:
    """A program that answers, and ends well at its input's end."""

    def __init__(self, *command: object):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self) -> "AnsweringProgram":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, line: str) -> str:
        self.process.stdin.write(line + "\n")
        return self.process.stdout.readline()

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def is_loaded(self) -> bool:
        return "liblagwatch-preload" in pathlib.Path(f"/proc/{self.pid}/maps").read_text()

    def ends_well(self) -> bool:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            return self.process.wait(20) == 0
        except subprocess.TimeoutExpired:
            return False


def compilers(count: int):
    """Keeps the processors busy."""
    return running([["sh", "-c", f"while :; do cc -O2 -c {HERE}/soak_program.c -o /dev/null; done"]] * count)


class Gaps:
    """In ms, a value a round: the longest gap between heartbeats of a program while it is attached, that of the same program beside
    it, which is left alone, and that of the first one while nothing happens. The second one of each pair is without the time in
    which a heart waited for a processor."""

    def __init__(self):
        self.attached, self.bystander, self.bare = [], [], []

    def measure(self, lagwatch: object, program: pathlib.Path, rounds: int) -> None:
        with AnsweringProgram(program) as host, AnsweringProgram(program) as bystander:
            for _ in range(rounds):
                self.measure_round(lagwatch, host, bystander)

    def measure_round(self, lagwatch: object, host: AnsweringProgram, bystander: AnsweringProgram) -> None:
        gaps_of(host), gaps_of(bystander)
        begin = time.monotonic()
        done = lagwatch.attach(host.pid)
        self.attached.append(gaps_of(host))
        self.bystander.append(gaps_of(bystander))
        assert done.returncode == 0, done.stderr
        lasted = time.monotonic() - begin
        lagwatch.detach(host.pid)
        gaps_of(host)
        time.sleep(lasted)
        self.bare.append(gaps_of(host))


def gaps_of(host: AnsweringProgram) -> tuple:
    """Since the last answer."""
    gap, stopped = host.ask("gap").split()
    return int(gap) / 1000, int(stopped) / 1000


def measure_beats(lagwatch: object, work: pathlib.Path, rounds: int) -> dict:
    program = compiled(HERE / "beat_program.c", work / "beat")
    result = {}
    for name, busy in (("", 0), ("loaded_", 4)):
        gaps = Gaps()
        with compilers(busy):
            gaps.measure(lagwatch, program, rounds)
        for key, pairs in (("beat", gaps.attached), ("bystander", gaps.bystander), ("bare", gaps.bare)):
            late, stopped = zip(*pairs)
            result[f"{name}{key}_gap_ms_p50"] = percentile(late, 50)
            result[f"{name}{key}_gap_ms_p99"] = percentile(late, 99)
            result[f"{name}{key}_stop_ms_p50"] = percentile(stopped, 50)
            result[f"{name}{key}_stop_ms_p99"] = percentile(stopped, 99)
    return result


def change(lagwatch: object, program: pathlib.Path, scene: str, moments: random.Random) -> bool:
    """Attaches to a program that changes at a random moment. Returns whether it is harmed."""
    with AnsweringProgram(program, scene) as host:
        command = lagwatch.start("attach", host.pid)
        if scene == "exec":
            time.sleep(moments.random() * 0.3)
            is_ready = host.ask("exec") == "ready\n"
        else:
            is_ready = True
        command.communicate()
        is_attached = command.returncode == 0
        if is_attached:
            lagwatch.detach(host.pid)
        return not is_ready or not host.ends_well()


def kill(lagwatch: object, program: pathlib.Path, rounds: int, moments: random.Random) -> dict:
    """Kills commands at random moments; what is left of the last one ends by itself."""
    with AnsweringProgram(program, "sleep") as host:
        for i in range(rounds):
            command = lagwatch.start("attach" if i % 2 == 0 else "detach", host.pid)
            time.sleep(moments.random() * 0.1)
            command.kill()
            command.communicate()
        if host.is_loaded():
            lagwatch.detach(host.pid)
        time.sleep(3)
        return {"killed": rounds, "left_threads": host.threads() - 1, "killed_harmed": int(not host.ends_well())}


def measure_changes(lagwatch: object, work: pathlib.Path, rounds: int) -> dict:
    program = compiled(CHANGING, work / "changing", "-ldl")
    moments = random.Random(38)
    harmed = {scene: sum(change(lagwatch, program, scene, moments) for _ in range(rounds)) for scene in SCENES}
    return {"changing": rounds * len(SCENES), "changing_harmed": sum(harmed.values()), **kill(lagwatch, program, rounds, moments)}
