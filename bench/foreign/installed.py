# SPDX-License-Identifier: Apache-2.0
"""Tests that Debian installs: GNOME's "installed tests" (/usr/share/installed-tests) and systemd's programs."""
import pathlib
import re
import shlex
import shutil

import unit

PACKAGES = ["appstream", "dbus", "dbus-tests", "gdk-pixbuf-tests", "gjs-tests", "glib-networking-tests", "graphene-tests",
            "libglib2.0-tests", "libsoup-3.0-tests", "pango1.0-tests", "systemd-tests", "xvfb", "xauth"]
ROOT = pathlib.Path("/usr/share/installed-tests")
NEED_DISPLAY = "gjs"
# systemd-logind's bus, names from a server in the net, or whole machines: the same for all, but minutes until they give up.
SYSTEMD_LEFT_OUT = "test-(loop-block|nss-hosts|bus-benchmark|compress-benchmark|loopback|mount-util|dev-setup|exec.*|execute|umount|watch-pid)$"


class Suite:
    def __init__(self, name):
        self.name = name

    def units(self):
        outer = ["dbus-run-session", "--"] if shutil.which("dbus-run-session") else []
        if re.match(NEED_DISPLAY, self.name) and shutil.which("xvfb-run"):
            outer = ["xvfb-run", "-a", *outer]
        for path in sorted((ROOT / self.name).glob("**/*.test")):
            text = path.read_text()
            if command := re.search(r"^Exec=(.*)$", text, re.MULTILINE):
                yield unit.Unit(str(path.relative_to(ROOT / self.name))[:-5], shlex.split(command[1]),
                                unit.tap if "Output=TAP" in text else unit.glib, outer,
                                {"G_TEST_DBUS_DAEMON": "/usr/bin/dbus-daemon"}, timeout_s=300)


class Systemd:
    name = "systemd"

    def units(self):
        for program in sorted(pathlib.Path("/usr/lib/systemd/tests").glob("test-*")):
            if program.is_file() and not re.match(SYSTEMD_LEFT_OUT, program.name):
                yield unit.Unit(program.name, [str(program)], unit.by_exit_code)


def suites():
    if ROOT.is_dir():
        yield from (Suite(path.name) for path in sorted(ROOT.iterdir()))
    yield Systemd()
