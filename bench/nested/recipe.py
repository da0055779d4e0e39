# SPDX-License-Identifier: Apache-2.0
"""A program whose handlers wait, and the comparison of its reports with the hangs that it has."""
import contextlib
import dataclasses
import os
import shlex
import shutil
import subprocess
import typing

from harness import suite
from harness.lagwatch import Lagwatch
from harness.servers import Display

THRESHOLD_MS = 500
LONGEST_S = 60


@dataclasses.dataclass
class Recipe:
    """A program; `hangs` of it are to be found, 0 for one that only runs a loop of its own."""
    name: str
    needs: list
    command: typing.Callable  # of a directory
    hangs: int
    flags: typing.Sequence = ()
    drive: typing.Callable = None  # of a directory, beside the program; returns a function for its end
    wrap: typing.Callable = None  # of a directory: the command that starts `lagwatch run` itself
    in_terminal: bool = False
    is_nobodys: bool = False  # it refuses to run as root
    known: str = ""  # why it is not found


def run(recipe, lagwatch, directory, is_verbose, threshold_ms):
    """Runs the program until its end."""
    environment = dict(os.environ, GIO_USE_VFS="local", GTK_A11Y="none", NO_AT_BRIDGE="1", HOME=str(directory))
    environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
    command = lagwatch.watched(recipe.command(directory), *recipe.flags, threshold_ms=threshold_ms)
    if recipe.is_nobodys:
        command = ["setpriv", "--reuid=nobody", "--clear-groups", *command]
    if recipe.wrap:
        command = recipe.wrap(directory) + command
    terminal = []
    if recipe.in_terminal:
        environment["TERM"] = "xterm"
        command = ["script", "-qec", shlex.join(command), "/dev/null"]
        terminal = list(os.openpty())
    with contextlib.ExitStack() as beside:
        for descriptor in terminal:
            beside.callback(os.close, descriptor)
        if "Xvfb" in recipe.needs:
            display = beside.enter_context(Display())
            environment |= display.environment | {"X_SERVER_PID": str(display.process.pid)}
        if recipe.drive:
            beside.callback(recipe.drive(directory))
        try:
            ended = subprocess.run(command, env=environment, stdin=terminal[1] if terminal else subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, timeout=LONGEST_S, start_new_session=True, check=False)
            if is_verbose or ended.returncode != 0:
                print(f"  exit {ended.returncode}: {ended.stdout[-600:]!r}")
        except subprocess.TimeoutExpired as expired:
            print(f"  did not end: {(expired.stdout or b'')[-600:]!r}")


def count_all(recipes, options, threshold_ms=THRESHOLD_MS):
    """Runs the recipes that are meant, and returns the suite's figures."""
    counts = {"hangs": 0, "found": 0, "nested_loops": 0, "false": 0, "starved": 0}
    for recipe in recipes:
        if options.only not in recipe.name:
            continue
        missing = [program for program in recipe.needs if not shutil.which(program)]
        if missing:
            print(f"{recipe.name:32}  left out: there is no {missing[0]}")
            continue
        with suite.work_directory() as directory:
            (directory / "spool").mkdir(mode=0o700)
            if recipe.is_nobodys:
                shutil.chown(directory, "nobody")
                shutil.chown(directory / "spool", "nobody")
            lagwatch = Lagwatch(options.bin, directory / "spool")
            run(recipe, lagwatch, directory, options.verbose, threshold_ms)
            if options.verbose:
                print(lagwatch.call("usage", *lagwatch.spool).stdout)
            every = lagwatch.whole_reports()
        # Dispatches that lasted because the machine was busy are none of the recipe's.
        reports = [report for report in every if report["verdict"]["word"] != "starved"]
        counts["starved"] += len(every) - len(reports)
        found = min(len(reports), recipe.hangs)
        counts["hangs"] += recipe.hangs
        counts["found"] += found
        counts["nested_loops"] += recipe.hangs == 0
        counts["false"] += len(reports) - found
        note = "right" if len(reports) == recipe.hangs else f"{len(reports)} reports instead of {recipe.hangs}"
        print(f"{recipe.name:32}  {note}{f': {recipe.known}' if recipe.known and not found else ''}", flush=True)
        for report in every:
            print(f"    {report['app']}, {report['duration_ms']} ms: {report.get('cause')}, {report['verdict']['word']}", flush=True)
    return counts


def parser(description):
    options = suite.parser(description, only="a part of the names of the programs")
    options.add_argument("--verbose", action="store_true", help="print what the programs did")
    return options
