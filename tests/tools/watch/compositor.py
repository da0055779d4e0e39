#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Says to org.lagwatch.Watch what a compositor would. Arguments: a process id, then one or more of
#   hangs     its window does not respond
#   answers   it does
#   stays     prints "ready", and stays on the bus until standard input ends
#   leaves    prints "ready", and ends
import sys

from gi.repository import Gio, GLib


def call(bus, method, parameters):
    bus.call_sync(
        "org.lagwatch.Watch",
        "/org/lagwatch/Watch",
        "org.lagwatch.Watch",
        method,
        parameters,
        None,
        Gio.DBusCallFlags.NONE,
        5000,
        None,
    )


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
found = GLib.MainLoop()
Gio.bus_watch_name_on_connection(
    bus, "org.lagwatch.Watch", Gio.BusNameWatcherFlags.NONE, lambda *_: found.quit(), None
)
found.run()
pid = int(sys.argv[1])
for word in sys.argv[2:]:
    if word == "hangs":
        call(bus, "NotResponding", GLib.Variant("(u)", [pid]))
    elif word == "answers":
        call(bus, "Responding", GLib.Variant("(i)", [pid]))
    elif word == "stays":
        print("ready", flush=True)
        sys.stdin.read()
    elif word == "leaves":
        print("ready", flush=True)
    else:
        try:
            call(bus, "NotResponding", GLib.Variant("(s)", [word]))
        except GLib.Error as error:
            print(error.message, flush=True)
