"""A D-Bus service at org.lagwatch.Slow: `Ping` answers at once, `Work` after it has got the lock of the file."""
import fcntl
import sys

from gi.repository import Gio, GLib

OBJECT = """<node><interface name='org.lagwatch.Slow'>
<method name='Ping'><arg type='i' direction='out'/></method>
<method name='Work'><arg type='i' direction='out'/></method>
</interface></node>"""


def work():
    with open(sys.argv[1]) as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def on_call(connection, sender, path, interface, method, parameters, invocation):
    if method == "Work":
        work()
    invocation.return_value(GLib.Variant("(i)", (1,)))


def on_bus(connection, name):
    connection.register_object("/org/lagwatch/Slow", Gio.DBusNodeInfo.new_for_xml(OBJECT).interfaces[0], on_call)


Gio.bus_own_name(Gio.BusType.SESSION, "org.lagwatch.Slow", 0, on_bus, lambda *_: print("ready", flush=True), None)
GLib.MainLoop().run()
