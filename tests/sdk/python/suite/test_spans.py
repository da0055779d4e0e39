# SPDX-License-Identifier: Apache-2.0
import unittest

from programs import Program


class Spans(unittest.TestCase):
    def test_scope_past_its_deadline(self):
        with Program() as program:
            program.run("""
with lagwatch.scope("quick", 200):
    pass
with lagwatch.scope("import", deadline_ms=200):
    time.sleep(0.4)
time.sleep(0.4)
""")
            [report] = program.reports()
            self.assertEqual((report["tag"], report["kind"]), ("import", "scope"))

    def test_scope_ends_at_an_await(self):
        with Program() as program:
            program.run("""
async def main():
    with lagwatch.scope("whole", 200):
        await asyncio.sleep(0.5)
        with lagwatch.scope("part", 200):
            time.sleep(0.35)
asyncio.run(main())
""", )
            self.assertEqual([(report["kind"], report["tag"]) for report in program.reports() if report["kind"] == "scope"],
                             [("scope", "part")])

    def test_dispatches_of_a_worker(self):
        with Program() as program:
            program.run("""
import queue
jobs = queue.Queue()
def work():
    while True:
        with lagwatch.wait():
            job = jobs.get()
        if job is None: return
        with lagwatch.dispatch(f"job {job}"):
            time.sleep(job)
thread = threading.Thread(target=work)
thread.start()
time.sleep(0.4)
jobs.put(0.05)
jobs.put(0.6)
jobs.put(None)
thread.join()
""")
            self.assertEqual([tag for tag, _ in program.hangs()], ["job 0.6"])

    def test_loop_of_the_program_itself(self):
        with Program() as program:
            program.run("""
loop = lagwatch.watch_loop("mine")
assert loop.name == "mine" and lagwatch.watch_loop("other") is loop
assert loop.set_thresholds(200, 0) == (200, 0)
loop.wait_begin(); time.sleep(0.3)
loop.wait_end("first"); time.sleep(0.05)
loop.turn("second"); time.sleep(0.4)
loop.wait_begin()
refused = []
def use():
    try: loop.turn("elsewhere")
    except RuntimeError as error: refused.append(error)
thread = threading.Thread(target=use); thread.start(); thread.join()
assert len(refused) == 1
loop.unwatch()
loop.turn("not watched"); time.sleep(0.4)
""")
            self.assertEqual([(report["loop"], report["tag"]) for report in program.reports()], [("mine", "second")])

    def test_many_names_and_threads(self):
        with Program() as program:
            output = program.run("""
for i in range(6000):
    with lagwatch.dispatch(f"name {i}"): pass
def one():
    with lagwatch.scope("short"): pass
for _ in range(300):
    thread = threading.Thread(target=one); thread.start(); thread.join()
for bad in (None, 1, b"bytes"):
    try: lagwatch.scope(bad)
    except TypeError: print("refused")
""")
            self.assertEqual(output, "refused\n" * 3)
            self.assertEqual(program.hangs(), [])

    def test_options(self):
        with Program() as program:
            output = program.run("""
for options in ({"no_such_option": 1}, {"threshold_ms": "long"}):
    try: lagwatch.start(**options)
    except ValueError as error: print(error)
assert not lagwatch.is_on()
assert lagwatch.start(threshold_ms=400, trace=True, spool_sync=0) and lagwatch.is_on()
assert lagwatch.set_value("tabs", "3") and lagwatch.dump("by hand")
time.sleep(0.3)
lagwatch.stop()
assert not lagwatch.is_on()
os.symlink("/tmp", "link")
print(lagwatch.start(spool_directory="link"), "symbolic link" in lagwatch.why_off() or lagwatch.why_off())
""", start="import os, time, lagwatch\n")
            self.assertEqual(output, "no option no_such_option=1\nno option threshold_ms=long\nFalse True\n")
            [report] = program.reports()
            self.assertEqual((report["kind"], report["tag"], report["app"]), ("dump", "by hand", "program"))


if __name__ == "__main__":
    unittest.main()
