"""A program whose loop ends in a deadlock of a static variable of C++ and Python's global lock (the GIL).

A thread initializes the settings, whose constructor calls a function of Python: it has the variable's guard, and needs the
GIL. A handler asks for the settings by a library's function that keeps the GIL: it waits for the guard. The argument is
the library, guard_and_gil.cc. After 5 s the program gives up.
"""
import ctypes
import select
import signal
import sys
import threading
import time

gives_gil, keeps_gil = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])


@ctypes.CFUNCTYPE(None)
def read_defaults():
    print("never comes")


def load_settings():
    gives_gil.FindSettings(read_defaults)


def show_settings():
    threading.Thread(target=load_settings, name="loader", daemon=True).start()
    time.sleep(0.1)
    keeps_gil.FindSettings(read_defaults)


signal.alarm(5)  # its handler would need the GIL; without one it ends the process
epoll = select.epoll()
epoll.register(sys.stdin.fileno(), select.EPOLLHUP)
for _turn in range(20):
    epoll.poll(0.02)
show_settings()
