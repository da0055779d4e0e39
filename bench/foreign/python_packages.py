# SPDX-License-Identifier: Apache-2.0
"""Python packages that bring their tests: event loops, networks and processes in another style each."""
import pathlib
import re

import unit

PACKAGES = ["python3-psutil", "python3-pytest", "python3-tornado", "python3-trio", "python3-twisted", "python3-zmq"]
ROOT = pathlib.Path("/usr/lib/python3/dist-packages")
TESTS = {  # files with tests
    "psutil": "psutil/tests/test_*.py",
    "tornado": "tornado/test/*_test.py",
    "trio": "trio/**/test_*.py",
    "twisted": "twisted/**/test_*.py",
    "zmq": "zmq/tests/test_*.py",
}
SHARES = {"twisted": 4}
# They need GTK, or ask servers in the net.
LEFT_OUT = "twisted/(trial/test/test_plugins|internet/test/test_gireactor|python/test/test_release)|psutil/tests/test_memleaks"


class PackageSuite:
    def __init__(self, name):
        self.name = name
        self.share = SHARES.get(name, 1)

    def units(self):
        for path in sorted(ROOT.glob(TESTS[self.name])):
            name = str(path.relative_to(ROOT))[:-3]
            if not re.match(LEFT_OUT, name):
                yield unit.Unit(name.partition("/")[2], ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "--tb=short",
                                "--junit-xml={directory}/junit.xml", "--pyargs", name.replace("/", ".")], unit.junit, timeout_s=300)


def suites():
    return (PackageSuite(name) for name in TESTS)
