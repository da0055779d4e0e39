"""A program with a loop of GLib's, whose handler calls a D-Bus service and waits for the answer.

Its first argument is the library that it calls with: `gdbus`, which sends by a thread of its own, or `libdbus`. With
another one it calls once a line is written to it.
"""
import ctypes
import sys

from gi.repository import Gio, GLib

NAME, PATH = "org.lagwatch.Slow", "/org/lagwatch/Slow"
ANSWER_MS = 60_000  # a busy machine is late to see what it waits for, and then the lock is let go


def call_by_gdbus(bus, method):
    bus.call_sync(NAME, PATH, NAME, method, None, None, 0, ANSWER_MS)


library = ctypes.CDLL("libdbus-1.so.3")
for function in ("dbus_bus_get", "dbus_message_new_method_call", "dbus_connection_send_with_reply_and_block"):
    getattr(library, function).restype = ctypes.c_void_p


def call_by_libdbus(bus, method):
    session = 0
    connection = ctypes.c_void_p(library.dbus_bus_get(session, None))
    texts = [text.encode() for text in (NAME, PATH, NAME, method)]
    message = ctypes.c_void_p(library.dbus_message_new_method_call(*texts))
    library.dbus_connection_send_with_reply_and_block(connection, message, ANSWER_MS, None)


def on_timer(bus, call):
    call(bus, "Ping")
    call(bus, "Work")
    GLib.timeout_add(300, loop.quit)
    return False


def call_soon(bus):
    call = {"gdbus": call_by_gdbus, "libdbus": call_by_libdbus}[sys.argv[1]]
    GLib.timeout_add(500, on_timer, bus, call)


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
