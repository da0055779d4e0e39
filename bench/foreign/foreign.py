#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs suites that others wrote, bare and under `lagwatch run`, and compares which of their tests fail: of CPython, stress-ng,
GNOME's libraries, GTK, SDL, Flatpak, systemd, psutil, tornado, trio, twisted, zmq, Perl, Ruby, Tcl, Node, redis and PostgreSQL.

A test differs when its outcome under lagwatch is another one than bare, and stays so: because suites have tests that fail now
and then, a unit (module, stressor, program of tests) with a difference is run again several times both ways, alternating.
A unit's own end and what it leaves (processes, temporary files) are compared in the same way. Prints `suites`, `tests` (as the
suites count them), how many `differ`, and how many differences are `declared` in docs/hosts.md (declared.py lists them).

Of the largest suites a third to an eighth of the units is run, --part N takes other ones and --all all, which takes hours;
`--all --only '^tcl/'` runs some units, --list names them. Sources of Debian's are fetched into build/foreign.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
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
from harness import suite

MODULES = [cpython, stressors, installed, python_packages, languages, servers, postgresql]
PACKAGES = sorted({package for module in MODULES for package in module.PACKAGES})
TARGETS = ["lagwatch-cli", "lagwatch_preload"]
RARE = 2  # an outcome that is seen so often watched, and never bare, is no accident


def suites():
    for module in MODULES:
        yield from module.suites()


class Comparison:
    def __init__(self, options):
        self.options = options
        self.way = ways.WAYS[options.way](options.bin, options.threshold_ms, options.children)

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
            suite.progress(f"{name}: {test}: {'differs' if differs else 'differed once'}: bare {bare}, watched {watched}")
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


def results(function, rows, pool):
    """Those of the function for each row, as they come. If the suite is ended, no other row is begun."""
    futures = [pool.submit(function, row) for row in rows]
    try:
        for done in concurrent.futures.as_completed(futures):
            yield done.result()
    finally:
        for future in futures:
            future.cancel()


def compare(bench, units):
    """Returns the numbers by suite: of tests, of those that differ, and of those whose difference is declared."""
    tests, differ, are_declared, again = collections.Counter(), collections.Counter(), collections.Counter(), []

    def check(suite_and_unit):
        return *suite_and_unit, bench.run_both(suite_and_unit[1])
    with concurrent.futures.ThreadPoolExecutor(bench.options.jobs) as pool:
        for name, one, pair in results(check, units, pool):
            count = sum(name not in (unit.END, unit.LEFT) for name in pair[0].outcomes)
            tests[name] += count
            names = different(*pair)
            suite.progress(f"{name}/{one.name}: {count} tests, {pair[0].outcomes[unit.END]}, {pair[0].seconds:.1f} and "
                           f"{pair[1].seconds:.1f} s, {pair[1].reports} reports" + (f"; at first {len(names)} differ" if names else ""))
            if names:
                again.append((name, one, pair))
    for name, one, pair in again:  # one after the other, on a machine that is quiet by now
        path = f"{name}/{one.name}"
        for test, watched in bench.repeat(path, one, pair):
            (are_declared if declared.is_declared(path, test, watched) else differ)[name] += 1
    return tests, differ, are_declared


def chosen(options):
    """Units with the names of their suites: the named share of large suites, or all."""
    for tested in suites():
        for number, one in enumerate(tested.units()):
            share = 1 if options.all else getattr(tested, "share", 1)
            is_always = re.match(getattr(tested, "always", "$"), one.name)
            if (number % share == options.part % share or is_always) and re.search(options.only, f"{tested.name}/{one.name}"):
                yield tested.name, one


def main():
    parser = suite.parser(__doc__, only="a regular expression: units with such names (suite/unit)")
    parser.add_argument("--all", action="store_true", help="all units, also of the suites that are run in part: takes hours")
    parser.add_argument("--part", type=int, default=0, help="which part: a suite of share 8 has the parts 0 to 7")
    parser.add_argument("--list", action="store_true", help="prints the units")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="units at a time")
    parser.add_argument("--repeats", type=int, default=4, help="further runs of a unit with a difference, each way")
    parser.add_argument("--threshold-ms", type=int, default=100, help="lagwatch's threshold; a low one makes many captures")
    parser.add_argument("--way", choices=ways.WAYS, default="run", help="run: under lagwatch run; attach: each process is attached soon "
                        "after its start; watch: from outside")
    parser.add_argument("--children", default="all", help="which children lagwatch watches, too")
    parser.add_argument("--timeout-factor", type=float, default=1, help="for a busy machine")
    parser.add_argument("--keep", type=pathlib.Path, help="a directory for the output of units with a difference")
    options = suite.parse(parser)
    units = list(chosen(options))
    if options.list:
        print("\n".join(f"{name}/{one.name}" for name, one in units))
        return 0
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    tests, differ, are_declared = compare(Comparison(options), units)
    for name, count in tests.items():
        suite.progress(f"{name}: {count} tests, {differ[name]} differ, {are_declared[name]} declared")
    return suite.result({"suites": sum(count > 0 for count in tests.values()), "tests": tests.total(), "differ": differ.total(),
                         "declared": are_declared.total()}, differ.total() == 0 and tests)


if __name__ == "__main__":
    sys.exit(main())
