# SPDX-License-Identifier: Apache-2.0
"""A thread keeps the interpreter's lock in C code for long, and the main thread wants to go on."""
import ctypes
import threading
import time

libc = ctypes.PyDLL(None)  # it keeps the lock


def archive():
    time.sleep(0.3)  # the main thread goes on
    libc.sleep(20)


def redraw():
    while True:
        time.sleep(0.01)


threading.Thread(target=archive, name="archiver", daemon=True).start()
redraw()
