#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs host programs that a monitor inside of them can spoil, bare and under `lagwatch run`, and compares what they did with
what lagwatch reported. `scripts/bench hosts` also runs real programs, builds with sanitizers and 40 random programs.

A host (`hosts`) is `same` when its exit code and output are those of the bare run, its hangs were reported, and no other was.
One that `lagwatch run` refuses is `same` when nothing of it ran and lagwatch said why. Otherwise it counts as `harmed`
(another exit code or output, or a process or temporary file is left), `missed` (a hang without a report), `false` (a
report without a hang) or `silent` (not watched, and lagwatch did not say so).
"""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import random_hosts
import real_hosts
import sanitized_hosts
from harness import leftovers, suite
from harness.lagwatch import Lagwatch, functions
from harness.processes import free_port, kill_group

PACKAGES = [*real_hosts.PACKAGES, *sanitized_hosts.PACKAGES]
TARGETS = ["lagwatch-cli", "lagwatch_preload", "bench_host"]
ARGUMENTS = ["--real", "--random", "40", "--again"]

THRESHOLD_MS = 250
TIMEOUT_S = 60
OPTIONS = {"all": ["--threads", "all"], "children": ["--children", "all"], "hooks": ["--trace", "--trace-hooks"]}  # of traits
LEFT_S = 5  # so long a process may take to end after the host


@dataclasses.dataclass
class Host:
    name: str
    command: list
    hangs: list
    traits: set
    threshold_ms: int = THRESHOLD_MS


@dataclasses.dataclass
class Outcome:
    code: int
    output: str
    notes: str  # lines of lagwatch itself
    left: list = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, code, output, errors):
        lines = errors.decode(errors="replace").splitlines()
        # A JVM says that it loads lagwatch's agent; a leak checker names threads by their ids.
        others = [line for line in lines if not re.match(r"lagwatch: |Picked up JAVA_TOOL_OPTIONS: |==\d+==Running thread", line)]
        return cls(code, output.decode(errors="replace") + "\n".join(others),
                   "\n".join(line for line in lines if line.startswith("lagwatch: ")))


@dataclasses.dataclass
class Finding:
    host: str
    kind: str
    detail: str


def run(command, mark=None, drive=None):
    """Runs the command until its end, or until `drive` has an answer, and with a mark looks at what is left."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=mark.environment if mark else None, start_new_session=True)
    try:
        answer = drive() if drive else None
        if drive:
            process.terminate()
        output, errors = process.communicate(timeout=TIMEOUT_S)
        ended = Outcome.of(process.returncode, output, errors)
        ended.output = answer if drive else ended.output
    except subprocess.TimeoutExpired as expired:
        kill_group(process)
        ended = Outcome.of(-1000, f"did not end in {TIMEOUT_S} s: ".encode() + (expired.stdout or b""), b"")
    ended.left = mark.take(LEFT_S) if mark else []
    return ended


class Comparison:
    def __init__(self, bin_directory):
        self.binaries = bin_directory
        self.host_program = str(bin_directory / "bench_host")

    def own_hosts(self):
        for program in (self.host_program, self.host_program + "_own_heap", self.host_program + "_own_names"):
            for row in run([program, "--list"]).output.splitlines():
                name, hangs, traits = row.split("\t")
                yield Host(name, [program, name], [hang for hang in hangs.split(",") if hang],
                           {trait for trait in traits.split(",") if trait})

    def sanitized_hosts(self, directory, only):
        for name, command in sanitized_hosts.builds():
            if re.search(only, name):
                yield Host(name, [sanitized_hosts.build(directory, name, command)], ["HangComputing", "HangSleeping"],
                           {"refused"} if sanitized_hosts.is_refused(name) else set())

    def watched_command(self, host, spool):
        options = [option for trait in OPTIONS if trait in host.traits for option in OPTIONS[trait]]
        return Lagwatch(self.binaries, spool).watched(host.command, *options, threshold_ms=host.threshold_ms)

    def reports(self, spool):
        """The reports, and what lagwatch says of them and of the programs."""
        lagwatch = Lagwatch(self.binaries, spool)
        listed = lagwatch.call("reports", *lagwatch.spool)
        usage = lagwatch.call("usage", *lagwatch.spool, "--json")
        return lagwatch.whole_reports(), listed.stderr + listed.stdout + usage.stdout

    def check(self, host):
        with suite.work_directory() as directory, leftovers.Mark() as mark:
            spool = directory / "spool"
            bare = run(host.command, mark)
            watched = run(self.watched_command(host, spool), mark)
            reports, notes = self.reports(spool)
            if "later" in host.traits:  # the program's next run reports what could not be written
                run(self.watched_command(dataclasses.replace(host, command=[self.host_program, "run_exit_handlers"]), spool))
                notes += self.reports(spool)[1]
        return list(self.judge(host, bare, watched, reports, notes + watched.notes))

    def run_real(self, program, spool, mark):
        """The exit code and output of a real program, watched when there is a spool."""
        with suite.work_directory() as directory:
            directory.chmod(0o755)
            port = free_port()
            host = Host(program.name, program.command(str(directory), port), [], program.traits)
            return run(self.watched_command(host, spool) if spool else host.command, mark,
                       program.drive and (lambda: program.drive(str(directory), port)))

    def check_real(self, program):
        with suite.work_directory() as directory, leftovers.Mark() as mark:
            bare = self.run_real(program, None, mark)
            directory.chmod(0o711)
            spool = directory / "spool"
            if "nobody" in program.traits:  # whose processes are to write there
                spool.mkdir(0o700)
                os.chown(spool, 65534, 65534)
            watched = self.run_real(program, spool, mark)
            reports, notes = self.reports(spool)
        if "code" in program.traits:  # its output differs from run to run
            bare.output = watched.output = ""
        if "stdout" in program.traits:  # and so do the messages of this one on standard error
            bare.output, watched.output = bare.output.split("\n")[0], watched.output.split("\n")[0]
        findings = [*self.judge_leftovers(program, bare, watched), *self.judge_output(program, bare, watched)]
        if len(reports) < program.reports:
            findings.append(Finding(program.name, "missed", f"{len(reports)} reports; {notes + watched.notes!r}"))
        if program.reports == 0 and reports and "others" not in program.traits:
            findings.append(Finding(program.name, "false", describe(reports[0])[:400]))
        return findings

    def check_any(self, host):
        if isinstance(host, random_hosts.Plan):
            return self.check(self.builder.host(host, Host))
        return self.check(host) if isinstance(host, Host) else self.check_real(host)

    def judge_leftovers(self, host, bare, watched):
        if more := leftovers.more_than(watched.left, bare.left):
            yield Finding(host.name, "harmed", f"is left: {more}")

    def judge_output(self, host, bare, watched):
        if (bare.code, bare.output) != (watched.code, watched.output):
            yield Finding(host.name, "harmed", f"bare {bare.code} {bare.output[-300:]!r}, watched {watched.code} {watched.output[-300:]!r}")

    def judge(self, host, bare, watched, reports, notes):
        yield from self.judge_leftovers(host, bare, watched)
        if "refused" in host.traits:
            if watched.code == 0 or watched.output or "cannot watch" not in watched.notes:
                yield Finding(host.name, "harmed", f"watched {watched.code} {watched.output[-300:]!r} {watched.notes!r}")
            return
        yield from self.judge_output(host, bare, watched)
        texts = [describe(report) for report in reports]
        unexplained = [hang for hang in host.hangs if not any(hang in text for text in texts)]
        # The machine was too busy for a stack: such a report may be of any hang.
        no_processor = [text for text, report in zip(texts, reports) if is_starved(report)]
        has_enough = len(unexplained) <= len(no_processor) or "nostack" in host.traits and len(reports) >= len(host.hangs)
        if unexplained and not has_enough:
            if "blind" in host.traits:
                if not re.search("not watched|not-written", notes):
                    yield Finding(host.name, "silent", f"no report of {unexplained} and no word about it: {notes!r}")
            else:
                yield Finding(host.name, "missed", f"{unexplained} of {len(reports)} reports")
        others = [text for text in texts if host.hangs == [] or
                  ("nostack" not in host.traits and text not in no_processor and not any(hang in text for hang in host.hangs))]
        if others and "others" not in host.traits:
            yield Finding(host.name, "false", others[0][:400])
        times = max([int(trait.removeprefix("times=")) for trait in host.traits if trait.startswith("times=")], default=0)
        if len(reports) < times:
            yield Finding(host.name, "missed", f"{len(reports)} of {times} reports")
        if "ended" in host.traits and any(not report.get("ended") for report in reports):
            yield Finding(host.name, "missed", "the end of the hang is not known")


def describe(report):
    """The report as text, which begins with what it says."""
    stack = functions(report.get("expensive_stack", []))
    return f"{report.get('duration_ms')} ms, {report.get('verdict', {}).get('word')}: {stack} " + json.dumps(report)


def is_starved(report):
    """No processor for the thread, or, beside a real-time loop, for the watchdog."""
    is_word = report.get("verdict", {}).get("word") == "starved"
    is_late = report.get("facts", {}).get("no_stack_reason") == "watchdog_late"
    return (is_word or is_late) and not report.get("expensive_stack")


def random_plans(bench, directory, options):
    bench.builder = random_hosts.Builder(directory)
    plans = [random_hosts.plan(seed) for seed in range(options.seed, options.seed + options.random)]
    for part in filter(None, options.without.split(",")):
        plans = [plan.without(part) for plan in plans]
    for part in filter(None, options.added.split(",")):
        plans = [plan.having(part) for plan in plans]
    return [plan for plan in plans if re.search(options.only, plan.name)]


def show(findings):
    for finding in findings:
        print(f"{finding.host}: {finding.kind}: {finding.detail}", flush=True)
    return findings


def compare(bench, hosts, options):
    counts = {"hosts": len(hosts), "same": 0, "harmed": 0, "missed": 0, "false": 0, "silent": 0}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = []
        for host, findings in zip(hosts, pool.map(bench.check_any, hosts)):
            found.append((host, show(findings)))
            suite.progress(f"{len(found)} of {len(hosts)}: {host.name}")
    for host, findings in found:
        if findings and options.again:
            print(f"{host.name}: once more", flush=True)
            findings = show(bench.check_any(host))
        if findings and options.minimize and isinstance(host, random_hosts.Plan):
            print(f"{host.name}: smallest: {random_hosts.smallest(host, bench.check_any)}", flush=True)
        counts["same"] += not findings
        for kind in {finding.kind for finding in findings}:
            counts[kind] += 1
    return suite.result(counts, counts["same"] == counts["hosts"] and hosts)


def main():
    parser = suite.parser(__doc__, only="a regular expression: hosts with such names", programs="lagwatch and bench_host")
    parser.add_argument("--real", action="store_true", help="also real programs and builds with sanitizers, as far as these are installed")
    parser.add_argument("--jobs", type=int, default=2, help="hosts at a time")
    parser.add_argument("--again", action="store_true", help="run a host that differs once more, alone: it counts if both "
                        "runs differ (on a machine so busy that hosts do not get their processor time)")
    parser.add_argument("--random", type=int, default=0, help="also so many random hosts, random_SEED")
    parser.add_argument("--seed", type=int, default=1, help="of the first random host")
    parser.add_argument("--without", default="", help="random hosts without these parts, separated by commas")
    parser.add_argument("--with", dest="added", default="", help="random hosts with these parts, too")
    parser.add_argument("--minimize", action="store_true", help="of a random host that differs, print the parts that it needs")
    options = suite.parse(parser)
    bench = Comparison(options.bin)
    hosts = [host for host in bench.own_hosts() if "root" not in host.traits or os.geteuid() == 0]
    if options.real:
        hosts += real_hosts.installed()
    hosts = [host for host in hosts if re.search(options.only, host.name)]
    with suite.work_directory() as directory:
        if options.real:
            hosts += bench.sanitized_hosts(directory, options.only)
        hosts += random_plans(bench, directory, options)
        return compare(bench, hosts, options)


if __name__ == "__main__":
    sys.exit(main())
