#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jetty under load, with the JVM agent and without it, at the same time on the same machine.

Prints throughput_ratio, the median over the rounds of the requests with the agent divided by those without it; cpu_ratio,
the same of the requests in a second of processor time, which other programs disturb less; rounds; requests_per_s without it.
"""
import pathlib
import statistics
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import suite

PACKAGES = ["openjdk-17-jdk-headless", "libjetty9-java", "libservlet-api-java"]
TARGETS = ["lagwatch_jvm"]
JARS = ["jetty9-server", "jetty9-util", "jetty9-http", "jetty9-io", "servlet-api"]


def class_path():
    jars = [f"/usr/share/java/{name}.jar" for name in JARS]
    missing = [jar for jar in jars if not pathlib.Path(jar).exists()]
    if missing:
        sys.exit(f"jvm.py: {missing[0]} is missing: install {' '.join(PACKAGES)}")
    return ":".join(jars)


def start(classes, agent, warm_up_s, measured_s):
    command = ["java", "-Xmx256m", *agent, "-cp", classes, "JettyLoad", str(warm_up_s), str(measured_s)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def main():
    parser = suite.parser(__doc__)
    parser.add_argument("--lib", type=suite.directory, help="the directory of liblagwatch_jvm.so; lib beside that of --bin by default")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--warm-up-s", type=int, default=5)
    parser.add_argument("--measured-s", type=int, default=10)
    options = suite.parse(parser)
    library = (options.lib or options.bin.parent / "lib") / "liblagwatch_jvm.so"
    if not library.exists():
        sys.exit(f"jvm.py: there is no {library}")
    with suite.work_directory() as directory:
        jars = class_path()
        source = pathlib.Path(__file__).with_name("JettyLoad.java")
        subprocess.run(["javac", "-cp", jars, "-d", directory, source], check=True)
        classes = f"{jars}:{directory}"
        agent = [f"-agentpath:{library}=spool_directory={directory}/spool,threshold_ms=500"]
        ratios, cpu_ratios, plain = [], [], []
        for number in range(options.rounds):
            # Each of the two begins first in half of the rounds.
            order = [agent, []] if number % 2 == 0 else [[], agent]
            runs = [start(classes, with_agent, options.warm_up_s, options.measured_s) for with_agent in order]
            rates = [[float(rate) for rate in run.communicate()[0].split()] for run in runs]
            watched, bare = rates if number % 2 == 0 else rates[::-1]
            ratios.append(watched[0] / bare[0])
            cpu_ratios.append(watched[1] / bare[1])
            plain.append(bare[0])
            suite.progress(f"round {number + 1}: {watched[0]:.0f} and {bare[0]:.0f} requests/s, {watched[1]:.0f} and "
                           f"{bare[1]:.0f} in a second of processor time")
    return suite.result({"throughput_ratio": round(statistics.median(ratios), 4),
                         "cpu_ratio": round(statistics.median(cpu_ratios), 4), "rounds": options.rounds,
                         "requests_per_s": round(statistics.median(plain))})


if __name__ == "__main__":
    sys.exit(main())
