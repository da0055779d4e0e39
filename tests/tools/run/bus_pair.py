"""A program that is a D-Bus service, too: `bus_pair.py LIBRARY NAME OTHER`.

Soon after a line is written to it, it calls `Work` of the service OTHER, which calls `Ping` of its caller before it answers:
both wait for the other one's answer. Calls are made with LIBRARY (`bus_calls.py`).
"""
import sys

from gi.repository import Gio, GLib

import bus_calls

library, own_name, other_name = sys.argv[1:]
call = bus_calls.BY_LIBRARY[library]
OBJECT = f"<node><interface name='{own_name}'><method name='Ping'/><method name='Work'/></interface></node>"


def ask_other(bus, method):
    call(bus, other_name, method)


def on_call(connection, sender, path, interface, method, parameters, invocation):
    if method == "Work":
        ask_other(connection, "Ping")
    invocation.return_value(None)


def on_line(_source, _condition, bus):
    GLib.timeout_add(1500, ask_other, bus, "Work")  # the loops are known by then
    return False


def on_bus(connection, name):
    node = Gio.DBusNodeInfo.new_for_xml(OBJECT)
    connection.register_object(bus_calls.path_of(name), node.interfaces[0], on_call)
    GLib.io_add_watch(sys.stdin, GLib.IO_IN, on_line, connection)


GLib.timeout_add(20, lambda: True)  # a loop is known by its waits
Gio.bus_own_name(Gio.BusType.SESSION, own_name, 0, on_bus, lambda *_: print("ready", flush=True), None)
GLib.MainLoop().run()
