#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs suites that others wrote, bare and under `lagwatch run`, and compares which of their tests fail.

A test differs when its outcome under lagwatch is another one than bare, and stays so: because suites have tests that fail now
and then, a unit (module, stressor, program of tests) with a difference is run again several times both ways, alternating.
Differences that the documentation declares are counted apart. A unit's own end and what it leaves (processes, temporary
files) are compared in the same way. The last line is one JSON object.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import sys

import cpython
import declared
import installed
import languages
import postgresql
import python_packages
import servers
import stressors
import unit
import ways

MODULES = [cpython, stressors, installed, python_packages, languages, servers, postgresql]
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
        """The names of tests that differ in more than one of several runs, and the outcomes of the watched ones.

        An outcome that only some of the watched runs have may be rare, not new: then as many bare ones are needed to meet it, too.
        """
        results = [first] + [self.run_both(one) for _ in range(self.options.repeats)]
        if any(differs and not always for _, differs, always, _ in self.judged(results)):
            results += [self.run_both(one) for _ in range(RARE * self.options.repeats)]
        if self.options.keep:
            for number, pair in enumerate(results):
                for result, way in zip(pair, ("bare", "watched")):
                    path = self.options.keep / f"{name.replace('/', '_')}.{number}.{way}"
                    path.write_text(f"{json.dumps(result.outcomes, indent=1)}\n{result.output}")
        for test, differs, _, (bare, watched) in self.judged(results):
            print(f"{name}: {test}: {'differs' if differs else 'differed once'}: bare {bare}, watched {watched}",
                  file=sys.stderr, flush=True)
            if differs:
                yield test, watched

    @staticmethod
    def judged(results):
        """For each test that differed at first: whether it does again, whether in all runs, and the outcomes."""
        for test in different(*results[0]):
            outcomes = [[pair[way].outcomes.get(test, "no outcome") for pair in results] for way in (0, 1)]
            new = collections.Counter(outcomes[1])
            for outcome in outcomes[0]:
                new.pop(outcome, None)
            yield test, any(count >= min(RARE, len(results)) for count in new.values()), new.total() == len(results), outcomes


def different(bare, watched):
    names = dict.fromkeys([*bare.outcomes, *watched.outcomes])
    return [name for name in names if bare.outcomes.get(name) != watched.outcomes.get(name)]


def compare(bench, units):
    """Returns the numbers by suite: of tests, of those that differ, and of those whose difference is declared."""
    tests, differ, are_declared, again = collections.Counter(), collections.Counter(), collections.Counter(), []

    def check(suite_and_unit):
        return *suite_and_unit, bench.run_both(suite_and_unit[1])
    with concurrent.futures.ThreadPoolExecutor(bench.options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(check, row) for row in units]):
            suite, one, pair = done.result()
            count = sum(name not in (unit.END, unit.LEFT) for name in pair[0].outcomes)
            tests[suite] += count
            names = different(*pair)
            print(f"{suite}/{one.name}: {count} tests, {pair[0].outcomes[unit.END]}, {pair[0].seconds:.1f} and {pair[1].seconds:.1f} s, "
                  f"{pair[1].reports} reports" +
                  (f"; at first {len(names)} differ" if names else ""), file=sys.stderr, flush=True)
            if names:
                again.append((suite, f"{suite}/{one.name}", one, pair))
    for suite, name, one, pair in again:  # one after the other, on a machine that is quiet by now
        for test, watched in bench.repeat(name, one, pair):
            (are_declared if declared.is_declared(name, test, watched) else differ)[suite] += 1
    return tests, differ, are_declared


def chosen(options):
    """Units with the names of their suites: the named share of large suites, or all."""
    for suite in suites():
        for number, one in enumerate(suite.units()):
            share = 1 if options.all else getattr(suite, "share", 1)
            is_always = re.match(getattr(suite, "always", "$"), one.name)
            if (number % share == options.part % share or is_always) and re.search(options.only, f"{suite.name}/{one.name}"):
                yield suite.name, one


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of lagwatch")
    parser.add_argument("--all", action="store_true", help="all units, also of the suites that are run in part: takes hours")
    parser.add_argument("--part", type=int, default=0, help="which part: a suite of share 8 has the parts 0 to 7")
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its programs end with it
    units = list(chosen(options))
    if options.list:
        print("\n".join(f"{suite}/{one.name}" for suite, one in units))
        return 0
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    tests, differ, are_declared = compare(Bench(options), units)
    for suite, count in tests.items():
        print(f"{suite}: {count} tests, {differ[suite]} differ, {are_declared[suite]} declared", file=sys.stderr)
    print(json.dumps({"suites": sum(count > 0 for count in tests.values()), "tests": tests.total(), "differ": differ.total(),
                      "declared": are_declared.total()}))
    return 0 if differ.total() == 0 and tests else 1


if __name__ == "__main__":
    sys.exit(main())
