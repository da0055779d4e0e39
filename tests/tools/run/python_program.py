# SPDX-License-Identifier: Apache-2.0
"""Freezes its loop in the way that the argument names, and prints the stack that Python itself sees there."""
import ctypes
import os
import re
import select
import subprocess
import sys
import threading
import time

SECONDS = 1.0


def tell():
    """Prints "NAME (FILE):LINE" of each caller, innermost first. Called on the line that then freezes."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        print(f"{name} ({os.path.basename(code.co_filename)}):{frame.f_lineno}")
        frame = frame.f_back
    sys.stdout.flush()


class Handler:
    def sleep(self):
        tell(); time.sleep(SECONDS)

    def spin(self):
        end = time.monotonic() + SECONDS
        tell(); [None for _ in iter(lambda: time.monotonic() < end, False)]

    def sort(self):
        def key(value):
            if value == 3:
                tell(); time.sleep(SECONDS)
            return value
        sorted(range(4), key=key)

    def regex(self):
        tell(); re.match(r"(a+)+$", "a" * 25 + "b")

    def generator(self):
        def numbers():
            yield 1
            tell(); time.sleep(SECONDS)
            yield 2
        list(numbers())

    def lock(self):
        lock = threading.Lock()
        lock.acquire()
        tell(); lock.acquire(timeout=SECONDS)

    def gil(self):
        # A thread that keeps the interpreter's lock for longer than the others wait for it, on any machine.
        begin = time.process_time()
        sum(range(1_000_000))
        numbers = int(1_000_000 * SECONDS / (time.process_time() - begin))
        thread = threading.Thread(target=lambda: sum(range(numbers)))
        tell(); thread.start(); thread.join()

    def held(self):
        # Foreign code that does not give the lock back.
        def hold():
            ctypes.PyDLL(None).usleep(int(SECONDS * 1e6))
        thread = threading.Thread(target=hold, name="holder")
        tell(); thread.start(); thread.join()

    def child(self):
        tell(); subprocess.run(["sleep", str(SECONDS)])

    def comprehension(self):
        tell(); return [time.sleep(SECONDS) for _ in range(1)]

    def größe(self):
        tell(); time.sleep(SECONDS)


def main():
    reader, writer = os.pipe()
    poll = select.poll()
    poll.register(reader, select.POLLIN)

    def drive():
        for byte in b"............x.":
            time.sleep(0.02)
            os.write(writer, bytes([byte]))
        os.write(writer, b"q")
    threading.Thread(target=drive, daemon=True).start()
    while True:
        poll.poll()
        byte = os.read(reader, 1)
        if byte == b"x":
            getattr(Handler(), sys.argv[1])()
        elif byte == b"q":
            return


main()
