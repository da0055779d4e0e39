# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests, a module at a time."""
import re
import subprocess

import unit

PACKAGES = ["libpython3.11-testsuite", "python3.11"]
PYTHON = "/usr/bin/python3.11"
# Need a display or a compiler, take many minutes, or look at CPython's sources only.
LEFT_OUT = ("test_(idle|tk|ttk_.*|tkinter|ttk|turtle|tools|peg_generator|lib2to3|distutils|venv|ensurepip|zipfile64|largefile|"
            "bigmem|bigaddrspace)$")
NO_TESTS = ["-i", "*VSOCK*"]  # they wait for ever in virtual machines whose host does not connect them to themselves
LONG = "test_(asyncio|concurrent_futures|multiprocessing_.*|io|unparse|decimal|pickle|tokenize|statistics|subprocess)$"


class CpythonSuite:
    name = "cpython"
    share = 3
    always = ("test_(asyncio|concurrent_futures|faulthandler|fork1|epoll|poll|posix|popen|process_pool_executor|pty|queue|select|selectors|"
              "signal|socket|socketserver|ssl|subprocess|sched|thread|threading|threadsignals|threading_local|time|wait3|wait4)$")

    def units(self):
        listed = subprocess.run([PYTHON, "-m", "test", "--list-tests"], capture_output=True, text=True, check=False).stdout
        for module in listed.split():
            if not re.match(LEFT_OUT, module):
                yield unit.Unit(module, [PYTHON, "-m", "test", "-v", "--junit-xml", "{directory}/junit.xml", *NO_TESTS, module], unit.junit,
                                timeout_s=900 if re.match(LONG, module) else 240)


def suites():
    return (CpythonSuite(),)
