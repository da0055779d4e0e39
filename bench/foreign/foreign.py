#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs suites that others wrote, bare and under `lagwatch run`, and compares which of their tests fail.

A test differs when its outcome under lagwatch is another one than bare, and stays so: because suites have tests that fail now
and then, a unit (module, stressor, program of tests) with a difference is run again several times both ways, alternating.
A unit's own end and what it leaves (processes, temporary files) are compared in the same way. The last line is one JSON
object.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys

import cpython
import installed
import languages
import python_packages
import servers
import stressors
import unit
import ways

MODULES = [cpython, stressors, installed, python_packages, languages, servers]
PACKAGES = sorted({package for module in MODULES for package in module.PACKAGES})
RARE = 2  # an outcome that is seen so often watched, and never bare, is no accident


def suites():
    for module in MODULES:
        yield from module.suites()


class Bench:
    def __init__(self, options):
        self.options = options
        self.way = ways.WAYS[options.way](str(options.bin.resolve() / "lagwatch"), options.threshold_ms, options.children)

    def run_both(self, one):
        """A bare and a watched result."""
        return tuple(unit.run(one, way, self.options.timeout_factor) for way in (None, self.way))

    def repeat(self, name, one, first):
        """The names of tests that differ in more than one of several runs."""
        results = [first] + [self.run_both(one) for _ in range(self.options.repeats)]
        if self.options.keep:
            for number, pair in enumerate(results):
                for result, way in zip(pair, ("bare", "watched")):
                    path = self.options.keep / f"{name.replace('/', '_')}.{number}.{way}"
                    path.write_text(f"{json.dumps(result.outcomes, indent=1)}\n{result.output}")
        for test in different(*first):
            bare, watched = ([pair[way].outcomes.get(test, "no outcome") for pair in results] for way in (0, 1))
            new = collections.Counter(watched)
            for outcome in bare:
                new.pop(outcome, None)
            differs = any(count >= min(RARE, len(results)) for count in new.values())
            print(f"{name}: {test}: {'differs' if differs else 'differed once'}: bare {bare}, watched {watched}",
                  file=sys.stderr, flush=True)
            if differs:
                yield test


def different(bare, watched):
    names = dict.fromkeys([*bare.outcomes, *watched.outcomes])
    return [name for name in names if bare.outcomes.get(name) != watched.outcomes.get(name)]


def compare(bench, units):
    """Returns the number of tests by suite, and of those that differ."""
    tests, again = collections.Counter(), []

    def check(suite_and_unit):
        return *suite_and_unit, bench.run_both(suite_and_unit[1])
    with concurrent.futures.ThreadPoolExecutor(bench.options.jobs) as pool:
        for suite, one, pair in pool.map(check, units):
            count = sum(name not in (unit.END, unit.LEFT) for name in pair[0].outcomes)
            tests[suite] += count
            names = different(*pair)
            print(f"{suite}/{one.name}: {count} tests, {pair[0].outcomes[unit.END]}, {pair[1].reports} reports" +
                  (f"; at first {len(names)} differ" if names else ""), file=sys.stderr, flush=True)
            if names:
                again.append((f"{suite}/{one.name}", one, pair))
    differ = sum(len(list(bench.repeat(*row))) for row in again)  # one after the other, on a machine that is quiet by now
    return tests, differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of lagwatch")
    parser.add_argument("--only", default="", help="a regular expression: units with such names (suite/unit)")
    parser.add_argument("--list", action="store_true", help="prints the units")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="units at a time")
    parser.add_argument("--repeats", type=int, default=4, help="further runs of a unit with a difference, each way")
    parser.add_argument("--threshold-ms", type=int, default=100, help="lagwatch's threshold; a low one makes many captures")
    parser.add_argument("--way", choices=ways.WAYS, default="run", help="run: under lagwatch run; attach: each process is attached soon "
                        "after its start; watch: from outside")
    parser.add_argument("--children", default="all", help="which children lagwatch watches, too")
    parser.add_argument("--timeout-factor", type=float, default=1, help="for a busy machine")
    parser.add_argument("--keep", type=pathlib.Path, help="a directory for the output of units with a difference")
    options = parser.parse_args()
    units = [(suite.name, one) for suite in suites() for one in suite.units() if re.search(options.only, f"{suite.name}/{one.name}")]
    if options.list:
        print("\n".join(f"{suite}/{one.name}" for suite, one in units))
        return 0
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    tests, differ = compare(Bench(options), units)
    for suite, count in tests.items():
        print(f"{suite}: {count} tests", file=sys.stderr)
    print(json.dumps({"suites": sum(count > 0 for count in tests.values()), "tests": sum(tests.values()), "differ": differ}))
    return 0 if differ == 0 and tests else 1


if __name__ == "__main__":
    sys.exit(main())
