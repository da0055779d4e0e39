# SPDX-License-Identifier: Apache-2.0
"""redis' own tests: its servers, started, replicated, killed and asked by a program of Tcl."""
import pathlib
import re
import shutil

import debian_sources
import unit

PACKAGES = ["dpkg-dev", "redis-server", "redis-tools", "redis-sentinel", "tcl8.6"]
FIRST_PORT = 21100
PORTS = 60  # for a unit
OUTCOMES = {"ok": "passed", "err": "failed", "exception": "failed", "skip": "skipped", "ignore": "skipped"}


def redis_outcomes(_directory, output, _code):
    plain = re.sub(r"\x1b\[[\d;]*m", "", output)
    lines = re.findall(r"^\[(ok|err|exception|skip|ignore)\]: (.*?)(?: in tests/.*| \(\d+ ms\))?$", plain, re.MULTILINE)
    return unit.named((unit.without_numbers(name), OUTCOMES[word]) for word, name in lines)


class RedisSuite:
    """Each unit has a copy of the tree, where its servers have their files."""
    name = "redis"

    def units(self):
        root = debian_sources.fetched("redis")
        if not root or not shutil.which("redis-server"):
            return
        tests = re.search(r"set ::all_tests \{(.*?)\}", pathlib.Path(root, "tests/test_helper.tcl").read_text(), re.DOTALL)[1].split()
        for number, test in enumerate(tests):
            port = FIRST_PORT + number * PORTS
            yield unit.Unit(test, ["/bin/sh", "-c", f"cp -rs {root}/tests {root}/src {root}/redis.conf {root}/utils . && "
                                   "ln -sf /usr/bin/redis-* src/ && "
                                   f"exec tclsh8.6 tests/test_helper.tcl --clients 1 --baseport {port} --portcount {PORTS} --single {test}"],
                            redis_outcomes, timeout_s=600)


def suites():
    return (RedisSuite(),)
