"""A program with a loop of GLib's, whose handler calls a D-Bus service and waits for the answer.

Its first argument is the library that it calls with (`bus_calls.py`). With another one it calls once a line is written
to it.
"""
import sys

from gi.repository import Gio, GLib

import bus_calls

NAME = "org.lagwatch.Slow"


def on_timer(bus, call):
    call(bus, NAME, "Ping")
    call(bus, NAME, "Work")
    GLib.timeout_add(300, loop.quit)
    return False


def call_soon(bus):
    GLib.timeout_add(500, on_timer, bus, bus_calls.BY_LIBRARY[sys.argv[1]])


def on_line(_source, _condition, bus):
    call_soon(bus)
    return False


loop = GLib.MainLoop()
GLib.timeout_add(20, lambda: True)  # a loop is known by its waits
session_bus = Gio.bus_get_sync(Gio.BusType.SESSION)
if len(sys.argv) == 2:
    call_soon(session_bus)
else:
    GLib.io_add_watch(sys.stdin, GLib.IO_IN, on_line, session_bus)
    print("ready", flush=True)
loop.run()
