#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of probes on a small compiled method of Java, in nanoseconds a call above the bare call.

Prints jvm_return_ns, of entry and return with the duration and a filter that is false; jvm_entry_ns, the same of the entry
alone; jvm_count_ns, of counting; jvm_histogram_ns, of a histogram of durations; bare_ns; tick_pair_ns, two reads of the tick
counter. The best of all rounds each, with the JVM's agent from the start.
"""
import pathlib
import signal
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import suite

PACKAGES = ["openjdk-17-jdk-headless"]
TARGETS = ["lagwatch_jvm", "lagwatch-cli"]
METHOD = "budget 10% 10000000/s\njava ProbeCosts::work"
SCRIPTS = {
    "jvm_return_ns": f"{METHOD} @return if duration > 10s {{ count by tid }}",
    "jvm_entry_ns": f"{METHOD} @entry if tid == 0 {{ count by tid }}",
    "jvm_count_ns": f"{METHOD} {{ count }}",
    "jvm_histogram_ns": f"{METHOD} @return {{ histogram(duration) }}",
}


def measure(program):
    program.stdin.write("measure\n")
    program.stdin.flush()
    return float(program.stdout.readline())


def measure_probed(lagwatch, program, script):
    console = subprocess.Popen([lagwatch, "probe", str(program.pid), script], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    for line in console.stderr:
        if "armed at 1 function" in line:
            break
    else:
        sys.exit("jvm_probe.py: the probe was not armed")
    measure(program)  # compiled again
    result = measure(program)
    console.send_signal(signal.SIGINT)
    summary = console.communicate()[1]
    if "left out" in summary or console.returncode != 0:
        suite.progress(f"not all hits ran: {summary.strip()}")
    return result


def main():
    parser = suite.parser(__doc__)
    parser.add_argument("--lib", type=suite.directory, help="the directory of liblagwatch_jvm.so; lib beside that of --bin by default")
    parser.add_argument("--rounds", type=int, default=3)
    options = suite.parse(parser)
    agent = (options.lib or options.bin.parent / "lib") / "liblagwatch_jvm.so"
    with suite.work_directory() as directory:
        source = pathlib.Path(__file__).with_name("ProbeCosts.java")
        subprocess.run(["javac", "-d", directory, source], check=True)
        program = subprocess.Popen(
            ["java", f"-agentpath:{agent}=watched=0", "-XX:CompileCommand=quiet",
             "-XX:CompileCommand=dontinline,ProbeCosts.work", "-cp", directory, "ProbeCosts"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if program.stdout.readline() != "ready\n":
            sys.exit("jvm_probe.py: the program did not start")
        best = {}
        for number in range(options.rounds):
            times = {"bare_ns": measure(program)}
            for name, script in SCRIPTS.items():
                times[name] = measure_probed(options.bin / "lagwatch", program, script)
            best = {name: min(ns, best.get(name, ns)) for name, ns in times.items()}
            suite.progress(f"round {number + 1}: {times}")
        program.stdin.close()
        program.wait()
    bare = best.pop("bare_ns")
    suite.result({name: round(ns - bare, 1) for name, ns in best.items()} | {"bare_ns": round(bare, 2)})


if __name__ == "__main__":
    main()
