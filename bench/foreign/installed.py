# SPDX-License-Identifier: Apache-2.0
"""Tests that Debian installs: GNOME's "installed tests" (/usr/share/installed-tests) and systemd's programs."""
import pathlib
import re
import shlex
import shutil

import unit

PACKAGES = ["appstream", "dbus", "dbus-tests", "flatpak-tests", "gdk-pixbuf-tests", "gjs-tests", "glib-networking-tests", "graphene-tests",
            "gtk-4-tests", "libglib2.0-tests", "libjcat-tests", "librsvg2-tests", "libsdl2-tests", "libsoup-3.0-tests", "libxmlb-tests",
            "pango1.0-tests", "systemd-tests", "xvfb", "xauth"]
ROOT = pathlib.Path("/usr/share/installed-tests")
NEED_DISPLAY = "gjs|gtk-4|SDL2"
# systemd-logind's bus, names from a server in the net, or whole machines: the same for all, but minutes until they give up.
SYSTEMD_LEFT_OUT = "test-(loop-block|nss-hosts|bus-benchmark|compress-benchmark|loopback|mount-util|dev-setup|exec.*|execute|umount|watch-pid)$"


class InstalledSuite:
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


class SystemdSuite:
    name = "systemd"

    def units(self):
        for program in sorted(pathlib.Path("/usr/lib/systemd/tests").glob("test-*")):
            if program.is_file() and not re.match(SYSTEMD_LEFT_OUT, program.name):
                yield unit.Unit(program.name, [str(program)], unit.by_exit_code)


class SdlSuite:
    """SDL's automated tests, which have no .test file, with drawn parameters that are the same each time."""
    name = "SDL2-automation"

    def units(self):
        program = pathlib.Path("/usr/libexec/installed-tests/SDL2/testautomation")
        if program.is_file():
            yield unit.Unit(program.name, ["/bin/sh", "-c", "exec \"$0\" --seed LAGWATCH 2>&1", str(program)], self.outcomes,
                            directory=str(program.parent), environment={"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}, timeout_s=300)

    @staticmethod
    def outcomes(_directory, output, _code):
        return unit.named((name, word.lower()) for name, word in re.findall(r">>> Test '(\w+)': (\w+)", output))


def suites():
    if ROOT.is_dir():
        yield from (InstalledSuite(path.name) for path in sorted(ROOT.iterdir()))
    yield SdlSuite()
    yield SystemdSuite()
