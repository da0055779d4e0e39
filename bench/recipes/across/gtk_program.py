# SPDX-License-Identifier: Apache-2.0
"""A window that counts its turns. When the file that is named appears, its handler asks the X server and waits."""
import os
import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk

window = Gtk.Window(title="lagwatch")
label = Gtk.Label(label="0")
window.add(label)
window.show_all()
turns = 0


def redraw_now():
    Gdk.Display.get_default().sync()


def turn():
    global turns
    turns += 1
    label.set_text(str(turns))
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
        redraw_now()
    return True


GLib.timeout_add(40, turn)
Gtk.main()
