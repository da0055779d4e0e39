#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of `lagwatch watch`, the freezes that it finds, and those that it sees where there are none:

  cpu_pct_100_threads  the processor time of the watcher of a program with 100 threads that wait, in percent of one processor
  bpf_wait_added_ns    by so much a wait of a watched loop is longer with --bpf; bpf_call_added_ns: any other system call of the
                       machine; null where the kernel does not permit it
  busy_wait_added_ns   by so much a wait of a loop that never sleeps is longer while it is watched without --bpf;
                       busy_call_added_ns: any other system call meanwhile
  freezes, found, blamed  freezes of 1.5 s of real programs (`programs`; freezes/), those of them with a report of their own, and those whose
                       report has the word, the function and the other side that were planted
  refused, refused_with_reason  32-bit programs, and those of them whose refusal says so
  daemon_cpu_pct_350_idle, daemon_rss_mib_350_idle  the same of lagwatchd, and its memory (what it shares with its watchers counts
                       once), with 350 processes of which 150 have no loop, 100 wait in one for ever, and 100 wake up once a second
  false, minutes       reports of programs that freeze at other times, and of programs under load that never froze, in so many minutes; saturated loops are among them,
                       servers in Go, and programs that are stopped, continued and debugged all the time; 40 processes compute
                       in every other minute: `load` is the machine's highest
"""
import contextlib
import os
import pathlib
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
from harness.processes import CPU_TICKS_PER_S, QUIET, all_stats, compiled, kill_group, running
from loads import busy_machine, interrupt, interrupted, loads

PACKAGES = sorted(freezes.freezing.PACKAGES + ["chromium", "curl", "gdb", "nginx-light", "redis-tools", "x11-apps", "xvfb"])

TARGETS = ["lagwatch-cli"]
THRESHOLD_MS = 500


class Watcher(Lagwatch):
    def __init__(self, binaries, spool, pids):
        super().__init__(binaries, spool)
        self.process = subprocess.Popen([self.program, "watch", *map(str, pids), "--threshold-ms", str(THRESHOLD_MS), *self.spool,
                                         "--most-processes", "200", "--quiet"], stderr=sys.stderr, start_new_session=True)

    def cpu_s(self):
        """Of all its processes."""
        return sum(stat.cpu_ticks for stat in all_stats().values() if stat.session == self.process.pid) / CPU_TICKS_PER_S

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        finally:
            kill_group(self.process)


def measure_cpu(binaries, work):
    with running([[work / "loop", "threads", "100"]]) as (program,), Watcher(binaries, work / "cpu", [program.pid]) as watcher:
        time.sleep(3)
        begin, begin_s = time.monotonic(), watcher.cpu_s()
        time.sleep(20)
        pct = 100 * (watcher.cpu_s() - begin_s) / (time.monotonic() - begin)
    return round(pct, 2)


IDLE_USER = 12345
IDLE = """
import os, select, sys
loop = select.poll()
for _ in range(2):
    loop.register(os.pipe()[0], select.POLLIN)
while True:
    loop.poll(int(sys.argv[1]))
"""


def measure_daemon(binaries, work):
    """The processor time of lagwatchd and its watchers, in percent, and their memory in MiB."""
    commands = [["sleep", "1000"]] * 150 + [["/usr/bin/python3", "-c", IDLE, "-1"]] * 100 + [["/usr/bin/python3", "-c", IDLE, "1000"]] * 100
    rules = f"spool_directory = '{work}/daemon'\n[[rule]]\n"
    if os.geteuid() == 0:  # the machine's other programs are of no interest
        commands = [["setpriv", f"--reuid={IDLE_USER}", f"--regid={IDLE_USER}", "--clear-groups", *command] for command in commands]
        rules += f"user = '{IDLE_USER}'\n[[rule]]\nwatch = false\n"
    (work / "watch.toml").write_text(rules)
    with running(commands):
        time.sleep(20)  # they start
        daemon = subprocess.Popen([binaries / "lagwatchd", "--config", work / "watch.toml", "--quiet"], stderr=sys.stderr)
        time.sleep(15)
        own = lambda: {pid: stat.cpu_ticks for pid, stat in all_stats().items() if daemon.pid in (pid, stat.parent)}
        before, begin = own(), time.monotonic()
        time.sleep(20)
        after = own()
        ticks_per_s = sum(ticks - before.get(pid, 0) for pid, ticks in after.items()) / (time.monotonic() - begin)
        kib = 0
        for pid in after:
            with contextlib.suppress(OSError):
                kib += int(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().split("\nPss:")[1].split()[0])
        daemon.terminate()
        daemon.wait(30)
    return round(100 * ticks_per_s / CPU_TICKS_PER_S, 2), round(kib / 1024, 1)


def measure_calls(binaries, work):
    """The shortest of five times, of a wait and of another call: not watched, watched, and watched with --bpf."""
    tracepoints = "/sys/kernel/tracing"
    is_mounted_here = not os.path.exists(tracepoints + "/events") and subprocess.run(
        ["mount", "-t", "tracefs", "none", tracepoints], capture_output=True).returncode == 0
    try:
        return compare_calls(binaries, work)
    finally:
        if is_mounted_here:
            subprocess.run(["umount", tracepoints], check=True)


def compare_calls(binaries, work):
    ways = {"alone": None, "busy": [], "bpf": ["--bpf"]}
    times = {way: [] for way in ways}
    for _ in range(5):
        for way, flags in ways.items():
            program = subprocess.Popen([work / "loop", "calls"], stdout=subprocess.PIPE, text=True)
            watcher = None
            if flags is not None:
                watcher = subprocess.Popen([binaries / "lagwatch", "watch", str(program.pid), "--spool", work / "bpf", *flags],
                                           stderr=subprocess.PIPE, text=True)
            numbers = [int(word) for word in program.communicate()[0].split()]
            errors = watcher.communicate()[1] if watcher else ""
            if "without --bpf" not in errors:
                times[way].append(numbers)
    added = {}
    for way in ("busy", "bpf"):
        for i, call in enumerate(("wait", "call")):
            added[f"{way}_{call}_added_ns"] = (min(one[i] for one in times[way]) - min(one[i] for one in times["alone"])) if times[way] else None
    return added


def measure_found(binaries, work, only):
    count = Count(suite.progress)
    for program in freezing(work):
        if only not in program.name:
            continue
        program.start(work)
        time.sleep(1.5)  # its start is no freeze
        with contextlib.closing(program), Watcher(binaries, work / f"found-{program.name}", [program.pid]) as watcher:
            time.sleep(6)  # other threads than the main one are watched after three
            count.freeze_all(program, watcher)
    return count.figures()


def measure_refused(binaries, work):
    """A program that cannot be watched is refused with the reason."""
    program_file = compiled(freezes.freezing.FOLDER / "small.c", work / "small", "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector",
                            "-fno-pic", "-no-pie")
    with running([[program_file]]) as (program,):
        done = subprocess.run([binaries / "lagwatch", "watch", str(program.pid), "--spool", work / "small-spool"], capture_output=True, text=True,
                              timeout=60, check=False)
    suite.progress(f"32-bit: {done.stderr.strip()}")
    return {"refused": int(done.returncode != 0), "refused_with_reason": int("32-bit" in done.stderr)}


def measure_false(binaries, work, minutes):
    watched, beside = loads(work)
    with (running(watched, cwd=work, **QUIET) as programs, running(beside, cwd=work, **QUIET),
          running(interrupted(work), cwd=work, stdin=subprocess.DEVNULL) as stopped):
        time.sleep(8)  # they start
        sessions = {process.pid for process in programs + stopped}
        pids = [pid for pid, stat in all_stats().items() if stat.session in sessions]
        with Watcher(binaries, work / "false", pids) as watcher:
            with busy_machine() as machine:
                interrupt(stopped, machine, time.monotonic() + minutes * 60)
            reports = watcher.reports()
    for report in reports:
        suite.progress(f"FALSE  {report['app']} {report.get('duration_ms')} ms {report.get('verdict')} {' < '.join(report.get('cause') or [])}")
    return len(reports), len(pids), round(machine.most, 1)


def main():
    options = suite.parser(__doc__, only="a part of the names of the programs that freeze")
    options.add_argument("--minutes", type=float, default=3, help="of load")
    options.add_argument("--freezes-only", action="store_true", help="neither costs nor false reports")
    arguments = suite.parse(options)
    with suite.work_directory() as work:
        compiled(pathlib.Path(__file__).parent / "loop.c", work / "loop", "-static")
        found = measure_found(arguments.bin, work, arguments.only) | measure_refused(arguments.bin, work)
        if arguments.freezes_only:
            return suite.result(found)
        cpu_pct = measure_cpu(arguments.bin, work)
        added = measure_calls(arguments.bin, work)
        daemon_pct, daemon_mib = measure_daemon(arguments.bin, work)
        false, watched, load = measure_false(arguments.bin, work, arguments.minutes)
    return suite.result({"cpu_pct_100_threads": cpu_pct, **added, **found, "false": found["false"] + false,
                         "watched_under_load": watched, "minutes": arguments.minutes, "load": load, "daemon_cpu_pct_350_idle": daemon_pct,
                         "daemon_rss_mib_350_idle": daemon_mib})


if __name__ == "__main__":
    sys.exit(main())
