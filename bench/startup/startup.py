#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time that lagwatch adds to a program's start, to its forks and to its end.

Each figure is the difference of medians (of the 99th percentile, for exits) of the same program bare and watched, which
take turns, so that both meet the same machine: run_added_ms and run_added_cpu_ms to a start by lagwatch run, version_added_ms
by lagwatch --version; sdk_added_ms and sdk_added_cpu_ms to one that links the library, sdk_started_added_ms to one that starts
the monitor, too; fork_added_us of processor time to fork_bare_us; exit_added_ms_p99 from exit() to the end, of exits.
"""
import os
import pathlib
import resource
import statistics
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import suite
from harness.processes import running
from harness.suite import percentile

TARGETS = ["lagwatch-cli", "lagwatch_preload", "bench_startup", "bench_startup_linked"]


def started(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Runs the command; milliseconds of the clock and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment,
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status = os.waitpid(child, 0)
    took_ms = (time.perf_counter() - begin) * 1e3
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}")
    cpu_ms = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3
    return took_ms, cpu_ms


def printed(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """The number that the command prints, and milliseconds from then to its end as its parent sees it."""
    reader, writer = os.pipe()
    child = os.posix_spawn(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)])
    os.close(writer)
    os.waitpid(child, 0)
    end_ns = time.monotonic_ns()
    with os.fdopen(reader) as stream:
        number = float(stream.read())
    return number, (end_ns - number) / 1e6


def in_turns(rounds: int, *cases) -> list[list]:
    """The results of each case, called in turns."""
    results = [[] for _ in cases]
    for _ in range(rounds):
        for case, list_of_it in zip(cases, results):
            list_of_it.append(case())
    return results


def added(bare: list[float], watched: list[float]) -> float:
    return round(statistics.median(watched) - statistics.median(bare), 2)


def measure(bin_directory: pathlib.Path, spool: str, rounds: int, exits: int) -> dict[str, float]:
    environment = {**os.environ, "LAGWATCH_SPOOL": spool}
    names = ("bench_startup", "bench_startup_linked", "lagwatch")
    program, linked, lagwatch = (str(bin_directory / name) for name in names)

    def run(*arguments: str) -> list[str]:
        return [lagwatch, "run", "--quiet", "--", program, *arguments]

    def starting(command: list[str]):
        return lambda: started(command, environment)

    def printing(command: list[str]):
        return lambda: printed(command, environment)

    bare, watched, version, sdk, sdk_started = in_turns(
        rounds, starting([program, "nothing"]), starting(run("nothing")), starting([lagwatch, "--version"]),
        starting([linked, "nothing"]), starting([linked, "start", spool]))
    wall, cpu = ([[took[i] for took in case] for case in (bare, watched, version, sdk, sdk_started)] for i in (0, 1))
    fork_rounds = max(5, rounds // 10)
    fork_bare, fork_watched = in_turns(fork_rounds, printing([program, "fork", "200"]), printing(run("fork", "200")))
    exit_bare, exit_watched = in_turns(exits, printing([program, "exit"]), printing(run("exit")))
    ends_bare, ends_watched = ([took_ms for _, took_ms in case] for case in (exit_bare, exit_watched))
    forks_bare, forks_watched = ([number for number, _ in case] for case in (fork_bare, fork_watched))
    return {
        "run_added_ms": added(wall[0], wall[1]), "run_added_cpu_ms": added(cpu[0], cpu[1]),
        "version_added_ms": added(wall[0], wall[2]),
        "sdk_added_ms": added(wall[0], wall[3]), "sdk_added_cpu_ms": added(cpu[0], cpu[3]),
        "sdk_started_added_ms": added(wall[0], wall[4]),
        "fork_added_us": added(forks_bare, forks_watched), "fork_bare_us": round(statistics.median(forks_bare), 2),
        "exit_added_ms_p99": round(percentile(ends_watched, 99) - percentile(ends_bare, 99), 2),
        "exit_added_ms": added(ends_bare, ends_watched), "exits": exits,
        "bare_ms": round(statistics.median(wall[0]), 2)}


def main() -> int:
    options = suite.parser(__doc__, programs="lagwatch, bench_startup and bench_startup_linked")
    options.add_argument("--rounds", type=int, default=200, help="starts of each program")
    options.add_argument("--exits", type=int, default=400, help="exits of each program")
    options.add_argument("--load", type=int, default=0, help="processes that never sleep, meanwhile")
    arguments = suite.parse(options)
    with running([[sys.executable, "-c", "while True: pass"]] * arguments.load), suite.work_directory() as spool:
        return suite.result(measure(arguments.bin, str(spool), arguments.rounds, arguments.exits))


if __name__ == "__main__":
    sys.exit(main())
