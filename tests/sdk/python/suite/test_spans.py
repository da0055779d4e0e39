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

    def test_scope_ends_where_another_task_runs(self):
        with Program() as program:
            program.run("""
async def importer():
    with lagwatch.scope("import", 200):
        await asyncio.sleep(0)
async def other(): time.sleep(0.5)
async def main(): await asyncio.gather(importer(), other())
asyncio.run(main())
""")
            self.assertEqual([report["tag"] for report in program.reports() if report["kind"] == "scope"], [])

    def test_names_that_strangers_give_leave_room(self):
        with Program() as program:
            output = program.run("""
import lagwatch.wsgi
from lagwatch import _native
app = lagwatch.wsgi.Watched(lambda environ, start_response: [])
def get(path): app({"REQUEST_METHOD": "GET", "PATH_INFO": path}, None)
async def refresh(): pass
async def main():
    await asyncio.create_task(refresh(), name="first")
    for i in range(5000): get(f"/scan/x{i}")
    loop = asyncio.get_running_loop()
    for name in ("first", "late"):
        task = asyncio.create_task(refresh(), name=name)
        print(*(_native.tag_of(handle) for handle in loop._ready))
        await task
asyncio.run(main())
print(_native.name_of_request("GET /scan/x7"), _native.name_of_request("GET /late"))
with lagwatch.dispatch("import"): time.sleep(0.6)
""")
            self.assertEqual(output, "first: refresh\nrefresh\nGET /scan/x7 other\n")
            self.assertEqual([tag for tag, _ in program.hangs()], ["import"])

    def test_thread_of_c_that_calls_twice(self):
        with Program() as program:
            output = program.run("""
import ctypes
libc = ctypes.CDLL(None)
dropped = threading.Event()
kept = []
@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def first(_):
    kept.append(lagwatch.watch_loop("first"))
    libc.pthread_setspecific(key, ctypes.c_void_p(1))
    return 0
@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def second(_):  # as the thread ends
    dropped.wait()
    print(lagwatch.watch_loop("second").name)
key, thread = ctypes.c_uint(), ctypes.c_ulong()
libc.pthread_key_create(ctypes.byref(key), second)
libc.pthread_create(ctypes.byref(thread), None, first, None)
while not kept: time.sleep(0.01)
time.sleep(0.1)
kept.clear()
other = [bytes(100) for _ in range(1000)]  # in the memory of the first
dropped.set()
libc.pthread_join(thread, None)
""")
            self.assertEqual(output, "second\n")

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
