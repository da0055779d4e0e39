# SPDX-License-Identifier: Apache-2.0
"""display.py DISPLAY: prints a line when it is connected; after a line of input it waits for the server's answer."""
import ctypes
import sys

x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
x11.XSync.argtypes = [ctypes.c_void_p, ctypes.c_int]


def draw_window(display):
    x11.XSync(display, 0)


display = x11.XOpenDisplay(sys.argv[1].encode())
print("connected", flush=True)
sys.stdin.readline()
draw_window(display)
