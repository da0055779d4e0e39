# SPDX-License-Identifier: Apache-2.0
"""A window that counts its turns. When the file that is named appears, its handler asks the X server and waits, or
the D-Bus service org.lagwatch.Slow, if a second argument says `bus`."""
import os
import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gio, GLib, Gtk

window = Gtk.Window(title="lagwatch")
label = Gtk.Label(label="0")
window.add(label)
window.show_all()
turns = 0


def redraw_now():
    Gdk.Display.get_default().sync()


def fetch_now():
    name, path = "org.lagwatch.Slow", "/org/lagwatch/Slow"
    Gio.bus_get_sync(Gio.BusType.SESSION).call_sync(name, path, name, "Work", None, None, 0, 5000)


def turn():
    global turns
    turns += 1
    label.set_text(str(turns))
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
        if sys.argv[2:] == ["bus"]:
            fetch_now()
        else:
            redraw_now()
    return True


GLib.timeout_add(40, turn)
Gtk.main()
