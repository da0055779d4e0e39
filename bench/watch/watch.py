#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of `lagwatch watch`, the freezes that it finds, and those that it sees where there are none. The details go to standard error; the last line is one JSON
object:

  cpu_pct_100_threads  the processor time of the watcher of a program with 100 threads that wait, in percent of one processor
  bpf_wait_added_ns    by so much a wait of a watched loop is longer with --bpf; bpf_call_added_ns: any other system call of the machine; null
                       where the kernel does not permit it
  busy_wait_added_ns   by so much a wait of a loop that never sleeps is longer while it is watched without --bpf; busy_call_added_ns: any
                       other system call meanwhile
  freezes, found       freezes of 1.5 s of real programs (`programs`), and those of them with a report of their own
  daemon_cpu_pct_350_idle, daemon_rss_mib_350_idle  the same of lagwatchd, and its memory (what it shares with its watchers counts once), with 350
                       processes of which 150 have no loop, 100 wait in one for ever, and 100 wake up in theirs once a second
  false, minutes       reports of programs under load that never froze, in so many minutes; saturated loops are among them, servers in Go, and
                       programs that are stopped, continued and debugged all the time; 40 processes compute in every other minute: `load` is the
                       machine's highest
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from loads import BusyMachine, interrupt, interrupted, loads
from programs import freezing

THRESHOLD_MS = 500


class Watcher:
    def __init__(self, lagwatch, spool, pids, *flags):
        self.lagwatch, self.spool = lagwatch, spool
        self.process = subprocess.Popen([lagwatch, "watch", *map(str, pids), "--threshold-ms", str(THRESHOLD_MS), "--spool", spool,
                                         "--most-processes", "200", "--quiet", *flags], stderr=sys.stderr, start_new_session=True)

    def reports(self):
        answer = subprocess.run([self.lagwatch, "reports", "--spool", self.spool, "--json"], capture_output=True, text=True)
        return json.loads(answer.stdout or "[]")

    def cpu_s(self):
        """Of all its processes."""
        ticks = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rsplit(")", 1)[1].split()
                if int(fields[3]) == self.process.pid:
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)


def measure_cpu(lagwatch, work):
    program = subprocess.Popen([work / "loop", "threads", "100"])
    watcher = Watcher(lagwatch, work / "cpu", [program.pid])
    time.sleep(3)
    begin, begin_s = time.monotonic(), watcher.cpu_s()
    time.sleep(20)
    pct = 100 * (watcher.cpu_s() - begin_s) / (time.monotonic() - begin)
    watcher.stop()
    program.kill()
    program.wait()
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


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12]), int(fields[1])


def measure_daemon(bin_folder, work):
    """The processor time of lagwatchd and its watchers, in percent, and their memory in MiB."""
    commands = [["sleep", "1000"]] * 150 + [["/usr/bin/python3", "-c", IDLE, "-1"]] * 100 + [["/usr/bin/python3", "-c", IDLE, "1000"]] * 100
    rules = f"spool_directory = '{work}/daemon'\n[[rule]]\n"
    if os.geteuid() == 0:  # the machine's other programs are of no interest
        commands = [["setpriv", f"--reuid={IDLE_USER}", f"--regid={IDLE_USER}", "--clear-groups", *command] for command in commands]
        rules += f"user = '{IDLE_USER}'\n[[rule]]\nwatch = false\n"
    idle = [subprocess.Popen(command, start_new_session=True) for command in commands]
    time.sleep(20)  # they start
    (work / "watch.toml").write_text(rules)
    daemon = subprocess.Popen([bin_folder / "lagwatchd", "--config", work / "watch.toml", "--quiet"], stderr=sys.stderr)
    time.sleep(15)
    own = lambda: {pid: ticks for pid in [int(entry.name) for entry in pathlib.Path("/proc").glob("[0-9]*")]
                   for ticks, parent in [cpu_ticks_or_none(pid)] if daemon.pid in (pid, parent)}
    before, begin = own(), time.monotonic()
    time.sleep(20)
    after = own()
    pct = 100 * sum(ticks - before.get(pid, 0) for pid, ticks in after.items()) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - begin)
    kib = 0
    for pid in after:
        with contextlib.suppress(OSError):
            kib += int(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().split("\nPss:")[1].split()[0])
    daemon.terminate()
    daemon.wait(30)
    for process in idle:
        process.kill()
        process.wait()
    return round(pct, 2), round(kib / 1024, 1)


def cpu_ticks_or_none(pid):
    try:
        return cpu_ticks(pid)
    except OSError:
        return 0, 0


def measure_calls(lagwatch, work):
    """The shortest of five times, of a wait and of another call: not watched, watched, and watched with --bpf."""
    tracepoints = "/sys/kernel/tracing"
    is_mounted_here = not os.path.exists(tracepoints + "/events") and subprocess.run(
        ["mount", "-t", "tracefs", "none", tracepoints], capture_output=True).returncode == 0
    try:
        return compare_calls(lagwatch, work)
    finally:
        if is_mounted_here:
            subprocess.run(["umount", tracepoints], check=True)


def compare_calls(lagwatch, work):
    ways = {"alone": None, "busy": [], "bpf": ["--bpf"]}
    times = {way: [] for way in ways}
    for _ in range(5):
        for way, flags in ways.items():
            program = subprocess.Popen([work / "loop", "calls"], stdout=subprocess.PIPE, text=True)
            watcher = None
            if flags is not None:
                watcher = subprocess.Popen([lagwatch, "watch", str(program.pid), "--spool", work / "bpf", *flags], stderr=subprocess.PIPE, text=True)
            numbers = [int(word) for word in program.communicate()[0].split()]
            errors = watcher.communicate()[1] if watcher else ""
            if "without --bpf" not in errors:
                times[way].append(numbers)
    added = {}
    for way in ("busy", "bpf"):
        for i, call in enumerate(("wait", "call")):
            added[f"{way}_{call}_added_ns"] = (min(one[i] for one in times[way]) - min(one[i] for one in times["alone"])) if times[way] else None
    return added


def measure_found(lagwatch, work, only):
    freezes, found, count = 0, 0, 0
    for program in freezing(work):
        if only not in program.name:
            continue
        count += 1
        program.start(work)
        time.sleep(1.5)  # its start is no freeze
        watcher = Watcher(lagwatch, work / f"found-{program.name}", [program.pid])
        time.sleep(6)  # other threads than the main one are watched after three
        for way in program.ways:
            before = {report["id"] for report in watcher.reports()}
            program.freeze(way)
            new = []
            for _ in range(4):
                time.sleep(0.5)
                new = new or [report for report in watcher.reports() if report["id"] not in before]
            freezes += 1
            found += len(new) > 0
            place = " < ".join(new[0].get("cause") or []) if new else ""
            print(f"{'found ' if new else 'MISSED'} {program.name:10} {way:8} {place}", file=sys.stderr)
            time.sleep(1)
        watcher.stop()
        program.stop()
    return freezes, found, count


def session_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[3])


def measure_false(lagwatch, work, minutes):
    running = [(subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                 start_new_session=True), is_watched) for command, is_watched in loads(work)]
    stopped = [subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, start_new_session=True) for command in interrupted(work)]
    running += [(process, True) for process in stopped]
    time.sleep(8)  # they start
    watched = {process.pid for process, is_watched in running if is_watched}
    pids = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if session_of(process.name) in watched:
                pids.append(int(process.name))
    watcher = Watcher(lagwatch, work / "false", pids)
    with BusyMachine() as machine:
        interrupt(stopped, machine, time.monotonic() + minutes * 60)
    reports = watcher.reports()
    watcher.stop()
    for process, _ in running:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for report in reports:
        print(f"FALSE  {report['app']} {report.get('duration_ms')} ms {report.get('verdict')} {' < '.join(report.get('cause') or [])}", file=sys.stderr)
    return len(reports), len(pids), round(machine.most, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of lagwatch's programs")
    parser.add_argument("--minutes", type=float, default=3, help="of load")
    parser.add_argument("--only", default="", help="a part of the names of the programs that freeze")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its programs end with it
    lagwatch = arguments.bin.resolve() / "lagwatch"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        freezes, found, programs = measure_found(lagwatch, work, arguments.only)
        cpu_pct = measure_cpu(lagwatch, work)
        added = measure_calls(lagwatch, work)
        daemon_pct, daemon_mib = measure_daemon(arguments.bin.resolve(), work)
        false, watched, load = measure_false(lagwatch, work, arguments.minutes)
    print(json.dumps({"cpu_pct_100_threads": cpu_pct, **added, "freezes": freezes, "found": found, "programs": programs, "false": false,
                      "watched_under_load": watched, "minutes": arguments.minutes, "load": load, "daemon_cpu_pct_350_idle": daemon_pct,
                      "daemon_rss_mib_350_idle": daemon_mib}))


if __name__ == "__main__":
    main()
