# SPDX-License-Identifier: Apache-2.0
import os
import stat
import sys
import unittest

from programs import COMMAND, START, Program

FREEZE = """
def freeze():
    time.sleep(0.7)
async def main():
    await asyncio.sleep(0.05)
    freeze()
"""


class Forks(unittest.TestCase):
    def test_children_of_multiprocessing(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method), Program() as program:
                program.run(FREEZE + f"""
def child():
    asyncio.run(main())
if __name__ == "__main__":
    import multiprocessing
    process = multiprocessing.get_context("{method}").Process(target=child)
    process.start(); process.join()
    assert process.exitcode == 0 and lagwatch.is_on()
    time.sleep(0.4)
""")
                program.run("print(lagwatch.start())")  # its start looks at how earlier runs have ended
                [report] = program.reports()
                self.assertEqual((report["tag"], report["cause"][0]), ("main", "freeze (program.py)"))
                self.assertEqual(program.report(report["id"])["exit"]["reason"], "clean-exit")

    def test_fork_in_a_callback_is_no_hang_of_the_child(self):
        with Program() as program:
            output = program.run("""
async def main():
    with lagwatch.scope("fork", 300):
        child = os.fork()
        if child == 0:
            assert not lagwatch.is_on()
            time.sleep(0.6)
            with lagwatch.dispatch("short"):  # it watches again
                pass
            assert lagwatch.is_on()
            time.sleep(0.6)
            os._exit(0)
    await asyncio.sleep(0.1)
    while os.waitpid(child, os.WNOHANG) == (0, 0): await asyncio.sleep(0.05)
    print("ended")
asyncio.run(main())
""")
            self.assertIn("ended", output)
            self.assertEqual(program.hangs(), [])

    @unittest.skipUnless(sys.version_info >= (3, 12), "this Python does not warn")
    def test_fork_warns_of_threads_of_the_program_only(self):
        fork = "if (child := os.fork()) == 0: os._exit(0)\nos.waitpid(child, 0)\n"
        with Program() as program:
            self.assertEqual(program.run(fork), "")
            thread = "threading.Thread(target=time.sleep, args=(0.5,)).start()\n"
            self.assertIn("multi-threaded", program.run(thread + fork))

    def test_child_that_is_never_watched_starts_nothing(self):
        with Program() as program:
            output = program.run("""
child = os.fork()
if child == 0:
    time.sleep(0.1)
    print(len(os.listdir("/proc/self/task")), lagwatch.is_on(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
import subprocess
subprocess.run(["true"], check=True)
""")
            self.assertEqual(output, "1 False\n")


class Interpreters(unittest.TestCase):
    def test_second_interpreter_refuses_it_and_ends_nothing(self):
        with Program() as program:
            output = program.run("""
try: import _xxsubinterpreters as interpreters
except ImportError: import _interpreters as interpreters
second = interpreters.create("legacy") if hasattr(interpreters, "new_config") else interpreters.create(isolated=False)
text = "try: import lagwatch\\nexcept ImportError as error: print(str(error)[:41])\\n"
getattr(interpreters, "run_string", interpreters.exec if hasattr(interpreters, "exec") else None)(second, text + "import sys; sys.stdout.flush()")
interpreters.destroy(second)
print(lagwatch.is_on())
asyncio.run(asyncio.sleep(0.01))
""")
            self.assertEqual(output, "lagwatch is for the main interpreter (mod\nTrue\n")


class Command(unittest.TestCase):
    def test_run_of_a_script_and_of_a_module(self):
        text = "import sys, asyncio, time\nprint(__name__, sys.argv[1:], sys.path[0] in ('', sys.argv[0].rpartition('/')[0]))\n" + FREEZE
        for arguments in (["program.py"], ["-m", "program"]):
            with self.subTest(arguments), Program() as program:
                program.write("program.py", text + "asyncio.run(main())\nsys.exit(3)\n")
                target = [str(program.home / "program.py")] if len(arguments) == 1 else arguments
                output = program.output_of([sys.executable, "-m", "lagwatch", "run", "--threshold-ms", "300", *target, "--x", "1"], 3)
                self.assertEqual(output.splitlines()[0].replace(" False", " True"), "__main__ ['--x', '1'] True")
                self.assertEqual(program.hangs(), [("main", "freeze (program.py)")])
                self.assertEqual(program.reports()[0]["app"], "program")

    def test_main_module_stays(self):
        with Program() as program:
            program.write("program.py", """
import pickle, sys, threading
class Item: pass
def later():
    threading.main_thread().join()
    pickle.dumps(Item())
    print(sys.modules["__main__"].__file__.endswith("program.py"))
threading.Thread(target=later).start()
""")
            for arguments in (["program.py"], ["-m", "program"]):
                with self.subTest(arguments):
                    output = program.output_of([sys.executable, "-m", "lagwatch", "run", *arguments])
                    self.assertEqual(output, "True\n")

    def test_why_is_the_installed_command(self):
        with Program() as program:
            output = program.run("""
import subprocess
def freeze(): time.sleep(1.5)
threading.Timer(0.3, lambda: subprocess.run([sys.executable, "-m", "lagwatch", "why", str(os.getpid())])).start()
freeze()
""")
            self.assertIn("freeze", output)

    def test_without_the_command(self):
        with Program() as program:
            program.environment.update(PATH="/nonexistent")
            del program.environment["LAGWATCH_COMMAND"]
            self.assertIn("needs the command lagwatch", program.output_of([sys.executable, "-m", "lagwatch", "why", "1"], 127))
            self.assertIn("no option", program.output_of([sys.executable, "-m", "lagwatch", "run", "--color", "red", "x.py"], 2))

    def test_under_lagwatch_run(self):
        with Program() as program:
            program.write("program.py", START + FREEZE + "asyncio.run(main())\n")
            program.output_of([COMMAND, "run", "--threshold-ms", "300", "--", sys.executable, "program.py"])
            self.assertIn(("main", "freeze (program.py)"), program.hangs())

    def test_nothing_is_left(self):
        with Program() as program:
            program.run("asyncio.run(asyncio.sleep(0.05))")
            left = [path for path in program.home.rglob("*") if path.name != "program.py" and ".local" not in path.parts]
            self.assertEqual(left, [])
            spool = program.home / ".local/state/lagwatch/spool"
            self.assertEqual(stat.S_IMODE(os.stat(spool).st_mode), 0o700)


if __name__ == "__main__":
    unittest.main()
