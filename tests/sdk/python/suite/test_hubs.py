# SPDX-License-Identifier: Apache-2.0
"""Loops of gevent and uvloop, where they can be imported."""
import importlib.util
import unittest

from programs import Program

START = 'import time, lagwatch\nassert lagwatch.start(app="program", threshold_ms=300), lagwatch.why_off()\n'


class Hubs(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("gevent"), "gevent is not here")
    def test_gevent(self):
        for first in ("import gevent", "import time\nblock = time.sleep\nfrom gevent import monkey; monkey.patch_all(); import gevent"):
            with self.subTest(first), Program() as program:
                program.run("""
def freeze(): globals().get("block", time.sleep)(0.7)
def handle():
    gevent.sleep(0.1)
    freeze()
    gevent.sleep(0.5)
def other():
    for _ in range(20): gevent.sleep(0.05)
gevent.joinall([gevent.spawn(handle), gevent.spawn(other)])
gevent.sleep(0.4)
""", start=f"{first}\n{START}")
                self.assertEqual([(report["loop"], report["tag"], report["cause"][0]) for report in program.reports()],
                                 [("gevent", "handle", "freeze (program.py)")])

    @unittest.skipUnless(importlib.util.find_spec("uvloop"), "uvloop is not here")
    def test_uvloop(self):
        for order in ("import uvloop, asyncio\n" + START, START.replace("import", "import uvloop, asyncio,")):
            with self.subTest(order), Program() as program:
                program.run("""
def freeze(): time.sleep(0.7)
async def handle():
    await asyncio.sleep(0.1)
    freeze()
    await asyncio.sleep(0.4)
async def main():
    await asyncio.create_task(handle(), name="orders")
uvloop.install()
asyncio.run(main())
time.sleep(0.4)
""", start=order)
                [report] = program.reports()
                self.assertEqual((report["loop"], report["cause"][0]), ("uvloop", "freeze (program.py)"))
                self.assertIn("orders handle() (program.py)", str(program.report(report["id"])["facts"]))

    @unittest.skipUnless(importlib.util.find_spec("gevent"), "gevent is not here")
    def test_scope_of_gevent_ends_at_a_switch_and_nothing_is_left(self):
        with Program() as program:
            output = program.run("""
def work():
    with lagwatch.scope("import", 200): gevent.sleep(0.5)
gevent.joinall([gevent.spawn(work)])
lagwatch.stop()
print(greenlet.gettrace())
""", start="import gevent, greenlet\n" + START)
            self.assertEqual((output, program.reports()), ("None\n", []))

    @unittest.skipUnless(importlib.util.find_spec("gevent"), "gevent is not here")
    def test_loop_that_is_watched_no_more(self):
        with Program() as program:
            program.run("""
import threading
gevent.sleep(0.05)
lagwatch.watch_loop("x").unwatch()
def other():
    lagwatch.watch_loop("other")
    with lagwatch.dispatch("long"): time.sleep(0.7)
thread = threading.Thread(target=other)
thread.start()
for _ in range(60): gevent.sleep(0.01)
thread.join()
""", start="import gevent\n" + START)
            self.assertEqual([(report["loop"], report["tag"]) for report in program.reports()], [("other", "long")])

    @unittest.skipUnless(importlib.util.find_spec("uvloop"), "uvloop is not here")
    def test_scope_of_uvloop_ends_at_an_await(self):
        with Program() as program:
            program.run("""
async def main():
    with lagwatch.scope("import", 200): await asyncio.sleep(0.5)
uvloop.install()
asyncio.run(main())
""", start="import uvloop, asyncio\n" + START)
            self.assertEqual(program.reports(), [])


if __name__ == "__main__":
    unittest.main()
