# SPDX-License-Identifier: Apache-2.0
import unittest

from programs import START, Program

FREEZE = """
def freeze():
    time.sleep(0.7)
"""


class Asyncio(unittest.TestCase):
    def test_task_that_freezes_its_loop(self):
        with Program() as program:
            program.run(FREEZE + """
async def handle():
    await asyncio.sleep(0.05)
    freeze()
    await asyncio.sleep(0.4)  # no hang

async def main():
    await asyncio.create_task(handle(), name="orders")
asyncio.run(main())
""")
            self.assertEqual(program.hangs(), [("orders: handle", "freeze (program.py)")])
            report = program.report(program.reports()[0]["id"])
            facts = dict(report["facts"]) if not isinstance(report["facts"], list) else {f["name"]: f["value"] for f in report["facts"]}
            self.assertEqual(facts["task"], "orders handle() (program.py)")
            self.assertIn("main() (program.py:", facts["task_awaited_by"])

    def test_callbacks_have_the_names_of_their_functions(self):
        with Program() as program:
            program.run("import functools" + FREEZE + """
class Shop:
    def import_orders(self): freeze()

async def main():
    loop = asyncio.get_running_loop()
    for callback in (freeze, Shop().import_orders, functools.partial(freeze)):
        loop.call_soon(callback)
        await asyncio.sleep(0.1)
asyncio.run(main())
""")
            self.assertEqual([tag for tag, _ in program.hangs()], ["freeze", "Shop.import_orders", "freeze"])

    def test_short_callbacks_and_long_waits_are_no_hangs(self):
        with Program() as program:
            program.run("""
async def work():
    end = time.monotonic() + 1.4
    while time.monotonic() < end:
        time.sleep(0.02)
        await asyncio.sleep(0.005)
async def main():
    await asyncio.gather(*[work() for _ in range(3)])
    await asyncio.sleep(1.2)
asyncio.run(main())
time.sleep(1.2)  # after the loop
asyncio.run(asyncio.sleep(0.4))
""", start=START.replace("300", "1000"))
            self.assertEqual(program.hangs(), [])

    def test_loops_of_threads(self):
        with Program() as program:
            program.run(FREEZE + """
async def main(i):
    await asyncio.sleep(0.05)
    if i == 1: freeze()
    await asyncio.sleep(0.1)
threads = [threading.Thread(target=lambda i=i: asyncio.run(main(i))) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
            self.assertEqual(program.hangs(), [("main", "freeze (program.py)")])

    def test_start_in_a_loop_that_runs_and_stop(self):
        with Program() as program:
            output = program.run("import asyncio, time, lagwatch" + FREEZE + """
from asyncio import events
before = events.Handle._run, events._set_running_loop
async def main():
    lagwatch.start(app="late", threshold_ms=300)
    await asyncio.sleep(0.05)
    freeze()
    await asyncio.sleep(0.05)
asyncio.run(main())
lagwatch.stop()
assert before == (events.Handle._run, events._set_running_loop)
async def hooks():
    return hasattr(asyncio.get_running_loop()._selector, "__dict__") and "select" in vars(asyncio.get_running_loop()._selector)
print(asyncio.run(hooks()))
freeze()
""", start="")
            self.assertEqual(output, "False\n")
            self.assertEqual(program.hangs(), [("main", "freeze (program.py)")])

    def test_without_tags_or_without_asyncio(self):
        for arguments, tag in (("tags=False", ""), ("watch_asyncio=False", None)):
            with self.subTest(arguments), Program() as program:
                program.run(FREEZE + "async def main():\n  await asyncio.sleep(0.05)\n  freeze()\nasyncio.run(main())\n",
                            start=START.replace("threshold_ms=300", f"threshold_ms=300, {arguments}"))
                self.assertEqual(program.hangs(), [] if tag is None else [(tag, "freeze (program.py)")])

    def test_exceptions_are_those_of_the_program(self):
        with Program() as program:
            output = program.run("""
def fail(): raise ValueError("of the program")
async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: print(repr(context["exception"])))
    loop.call_soon(fail)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    def interrupt(): raise KeyboardInterrupt
    loop.call_soon(interrupt)
    await asyncio.sleep(1)
try: asyncio.run(main())
except KeyboardInterrupt: print("interrupted")
""")
            self.assertEqual(output, "ValueError('of the program')\ninterrupted\n")

    def test_loop_of_another_thread_that_runs_already(self):
        with Program() as program:
            program.run("import asyncio, threading, time, lagwatch" + FREEZE + """
async def main():
    await asyncio.sleep(0.3)
    await asyncio.sleep(0.05)
    freeze()
    await asyncio.sleep(0.05)
thread = threading.Thread(target=lambda: asyncio.run(main()))
thread.start()
time.sleep(0.1)
lagwatch.start(app="late", threshold_ms=300)
thread.join()
""", start="")
            self.assertEqual(program.hangs(), [("main", "freeze (program.py)")])

    def test_replacements_of_other_tools_stay(self):
        with Program() as program:
            output = program.run("""
from asyncio import events
original = events.Handle._run
def handle_run(handle): return original(handle)
loop = asyncio.new_event_loop()
select = loop._selector.select
loop._selector.select = mine = lambda timeout=None: select(timeout)
loop.run_until_complete(asyncio.sleep(0))
print(loop._selector.select is mine)
events.Handle._run = handle_run
lagwatch.stop()
print(events.Handle._run is handle_run)
lagwatch.start()
loop.run_until_complete(asyncio.sleep(0))
lagwatch.stop()
print(events.Handle._run is handle_run)
""")
            self.assertEqual(output, "True\nTrue\nTrue\n")

    def test_stop_while_a_loop_of_another_thread_runs(self):
        with Program() as program:
            output = program.run("""
from asyncio import events
lagwatch.stop()
before = events._set_running_loop
lagwatch.start()
thread = threading.Thread(target=lambda: asyncio.run(asyncio.sleep(0.3)))
thread.start()
time.sleep(0.1)
lagwatch.stop()
thread.join()
print(events._set_running_loop is before)
""")
            self.assertEqual(output, "True\n")

    def test_signal_that_ends_the_watch_in_a_wait(self):
        with Program() as program:
            output = program.run("""
import signal
signal.signal(signal.SIGALRM, lambda *_: lagwatch.watch_loop("x").unwatch())
async def main():
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    await asyncio.sleep(0.3)
asyncio.run(main())
print("ended")
""")
            self.assertEqual(output, "ended\n")


if __name__ == "__main__":
    unittest.main()
