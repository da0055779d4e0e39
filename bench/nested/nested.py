#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs real programs whose handlers wait, under `lagwatch run`: for an answer, which is a hang, or in a loop of their
own, as a dialog does, which is no hang. A program that is missing is left out.

Prints `hangs` that were made, how many of them were `found`, `nested_loops` and other idle programs, and reports of
these (`false`), without dispatches that lasted because they had no processor (`starved`); then the same beside 20 processes that
compute (`load20_…`). `--load 1` or `--load 20` measures one of them.
"""
import pathlib
import socket
import subprocess
import sys
import textwrap
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import suite
from harness.load import figures_at
from harness.processes import free_port, wait_for
from harness.servers import SilentNameServer, postgres, psql
from recipe import Recipe, count_all, parser

PACKAGES = ["dbus", "emacs-nox", "gir1.2-gtk-3.0", "neovim", "postgresql", "python3-gi", "python3-pyqt5", "vlc-bin",
            "vlc-plugin-base", "xvfb"]
TARGETS = ["lagwatch-cli", "lagwatch-collector", "lagwatch_preload"]
HANG_S = 1.2
PYTHON = "/usr/bin/python3"  # that the packages' modules are for

GTK = """
import gi, os, signal, subprocess, sys, time
gi.require_version('Gtk', '3.0')
from gi.repository import Gio, GLib, Gtk, Gdk
window = Gtk.Window()
window.show_all()
bus = Gio.bus_get_sync(Gio.BusType.SESSION) if 'DBUS_SESSION_BUS_ADDRESS' in os.environ else None
def after(ms, function):
    def once():
        function()
        return False
    GLib.timeout_add(ms, once)
def tick():
    return True
GLib.timeout_add(20, tick)
def act():
{act}
after(800, act)
after(800 + 1200 + 800, Gtk.main_quit)
Gtk.main()
"""

QT = """
import sys
from PyQt5.QtCore import QEventLoop, QProcess, QTimer
from PyQt5.QtWidgets import QApplication, QMessageBox, QWidget
application = QApplication([])
window = QWidget()
window.show()
ticks = QTimer()
ticks.start(20)
def act():
{act}
QTimer.singleShot(800, act)
QTimer.singleShot(800 + 1200 + 800, application.quit)
application.exec_()
"""

ASYNCIO = """
import asyncio, socket, subprocess, sys, threading, urllib.request
def act():
{act}
async def main():
    for i in range(30): await asyncio.sleep(0.02)
    act()
    for i in range(30): await asyncio.sleep(0.02)
asyncio.run(main())
"""

SILENT_SERVICE = """
import gi, os, signal
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', 'RequestName',
              GLib.Variant('(su)', ('org.example.Silent', 0)), None, 0, -1)
os.kill(os.getpid(), signal.SIGSTOP)
"""

EMACS = """(progn (run-with-timer 0.05 0.02 (lambda ()))
  (run-with-timer 0.8 nil (lambda () {act})) (run-with-timer 2.8 nil 'kill-emacs))"""


def indented(template, act):
    return template.replace("{act}", textwrap.indent(textwrap.dedent(act).strip(), "    "))


def gtk(name, act, hangs, **more):
    return Recipe("gtk, " + name, ["Xvfb", PYTHON], lambda _: [PYTHON, "-c", indented(GTK, act)], hangs, **more)


def qt(name, act, hangs):
    return Recipe("qt, " + name, ["Xvfb", PYTHON], lambda _: [PYTHON, "-c", indented(QT, act)], hangs)


def asyncio(name, act, hangs, **more):
    return Recipe("asyncio, " + name, [PYTHON], lambda _: [PYTHON, "-c", indented(ASYNCIO, act)], hangs, **more)


def emacs(name, act, hangs):
    return Recipe("emacs, " + name, ["emacs"], lambda _: ["emacs", "-Q", "-nw", "--eval", EMACS.replace("{act}", act)],
                  hangs, in_terminal=True)


def node(name, act, hangs):
    script = f"setInterval(() => {{}}, 20); setTimeout(() => {{ {act} }}, 800); setTimeout(() => process.exit(), 2800);"
    return Recipe("node, " + name, ["node"], lambda _: ["node", "-e", script], hangs)


def with_silent_service(directory):
    (directory / "silent.py").write_text(SILENT_SERVICE)
    return ["dbus-run-session", "--", "sh", "-c", f'{PYTHON} {directory}/silent.py & sleep 0.5; "$@"; kill -KILL $!', "sh"]


PORT = free_port()


def migrate(_):
    """Makes redis send a key to a server that accepts and does not answer."""
    mute = socket.create_server(("127.0.0.1", 0))

    def ask():
        connection = wait_for(lambda: socket.create_connection(("127.0.0.1", PORT)))
        connection.sendall(b"SET key 1\r\n")
        time.sleep(1)
        connection.sendall(f"MIGRATE 127.0.0.1 {mute.getsockname()[1]} key 0 {int(HANG_S * 1000)}\r\n".encode())
        time.sleep(HANG_S + 0.5)
        connection.sendall(b"SHUTDOWN NOSAVE\r\n")

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return mute.close


def lock_table(_):
    """One session waits for another one's lock, after it has waited for its client a few times."""
    def ask():
        command = psql(PORT)
        wait_for(lambda: subprocess.run(command + ["-c", "create table t(i int)"], stderr=subprocess.DEVNULL, check=False).returncode == 0)
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
        holder.stdin.write("begin; lock table t;\n")
        holder.stdin.flush()
        waiter = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
        for _ in range(20):
            waiter.stdin.write("select 1;\n")
            waiter.stdin.flush()
            time.sleep(0.05)
        waiter.stdin.write("select count(*) from t;\n")
        waiter.stdin.flush()
        time.sleep(HANG_S)
        holder.communicate("commit;\n")
        waiter.communicate("select 1;\n")
        subprocess.run(["pkill", "-INT", "-f", f"postgres -D .* -p {PORT}"], check=False)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return lambda: None


RECIPES = [
    gtk("dialog", "dialog = Gtk.MessageDialog(parent=window, text='?'); after(1200, dialog.destroy); dialog.run()", 0),
    gtk("nested loop", "loop = GLib.MainLoop(); after(1200, loop.quit); loop.run()", 0),
    gtk("pump", """
        end = time.monotonic() + 1.2
        while time.monotonic() < end:
            while Gtk.events_pending(): Gtk.main_iteration()
            time.sleep(0.02)
        """, 0),
    gtk("sync D-Bus call", """
        try: bus.call_sync('org.example.Silent', '/', 'org.example', 'Ask', None, None, 0, 1200)
        except GLib.Error as error: print(error.message)
        """, 1, wrap=with_silent_service),
    gtk("spawn_sync", "GLib.spawn_sync(None, ['/bin/sleep', '1.2'], None, 0, None, None)", 1),
    gtk("stopped X server", """
        server = int(os.environ['X_SERVER_PID'])
        subprocess.Popen(['sh', '-c', f'sleep 1.2; kill -CONT {server}'])
        os.kill(server, signal.SIGSTOP)
        Gdk.Display.get_default().sync()
        """, 1),
    qt("dialog", "box = QMessageBox(window); QTimer.singleShot(1200, box.accept); box.exec_()", 0),
    qt("nested loop", "loop = QEventLoop(); QTimer.singleShot(1200, loop.quit); loop.exec_()", 0),
    qt("waitForFinished", "child = QProcess(); child.start('sleep', ['1.2']); child.waitForFinished(5000)", 1),
    asyncio("getaddrinfo", """
        try: socket.getaddrinfo('host.example', 80)
        except OSError: pass
        """, 1, wrap=SilentNameServer.command, drive=lambda _: SilentNameServer().socket.close),
    asyncio("subprocess.run", "subprocess.run(['sleep', '1.2'], capture_output=True)", 1),
    asyncio("urlopen", """
        server = socket.create_server(('127.0.0.1', 0))
        try: urllib.request.urlopen('http://127.0.0.1:%d' % server.getsockname()[1], timeout=1.2)
        except OSError: pass
        """, 1),
    asyncio("another loop", """
        asyncio._set_running_loop(None)
        asyncio.new_event_loop().run_until_complete(asyncio.sleep(1.2))
        """, 1),
    asyncio("thread joins", "thread = threading.Thread(target=lambda: __import__('time').sleep(1.2)); thread.start(); "
            "thread.join()", 1),
    node("execSync", "require('child_process').execSync('sleep 1.2')", 1),
    node("Atomics.wait", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200)", 1),
    emacs("sleep-for", "(sleep-for 1.2)", 1),
    emacs("call-process", '(call-process "sleep" nil nil nil "1.2")', 1),
    emacs("sit-for", "(sit-for 1.2)", 0),
    Recipe("nvim, system()", ["nvim"], lambda _: [
        "nvim", "-u", "NONE", "-c", "call timer_start(20, {-> 0}, {'repeat': -1})",
        "-c", "call timer_start(800, {-> system('sleep 1.2')})", "-c", "call timer_start(2800, {-> execute('qa!')})"],
        1, in_terminal=True, known="runs its one loop meanwhile, as for a dialog"),
    Recipe("redis, MIGRATE", ["redis-server"], lambda directory: [
        "redis-server", "--port", str(PORT), "--save", "", "--dir", str(directory), "--logfile", f"{directory}/log"], 1,
        drive=migrate),
    Recipe("postgres, lock", ["psql"], lambda directory: postgres(directory, PORT), 1, flags=["--children", "all"], drive=lock_table,
           is_nobodys=True),
    Recipe("vlc, idle", ["cvlc"], lambda _: ["cvlc", "--intf", "dummy", "--vout", "dummy", "--aout", "dummy",
                                             "vlc://pause:3", "vlc://quit"], 0,
           flags=["--children", "all"], is_nobodys=True),
    Recipe("python, socket with timeout", [PYTHON], lambda _: [PYTHON, "-c", textwrap.dedent("""
        import socket
        server = socket.create_server(('127.0.0.1', 0))
        client = socket.create_connection(server.getsockname())
        for timeout in (0.02, 0.02, 0.02, 0.02, 1.2, 0.02, 1.2):
            client.settimeout(timeout)
            try: client.recv(1)
            except TimeoutError: pass
        """)], 0),
    Recipe("python, two loops", [PYTHON], lambda _: [PYTHON, "-c", textwrap.dedent("""
        import asyncio
        async def turn():
            for i in range(20): await asyncio.sleep(0.02)
        asyncio.run(turn())
        asyncio.run(asyncio.sleep(1.2))
        """)], 0),
]


def main():
    options = suite.parse(suite.measured_at_loads(parser(__doc__)))
    return suite.result(figures_at(suite.loads_of(options), lambda _: count_all(RECIPES, options)))


if __name__ == "__main__":
    sys.exit(main())
