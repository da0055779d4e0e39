# SPDX-License-Identifier: Apache-2.0
"""python -m lagwatch run [--OPTION VALUE]... SCRIPT|-m MODULE [ARGUMENT]...

Runs a Python program with lagwatch on, as lagwatch.start(option=value) in its first line would have it.
Every other command (why, reports, report, clusters, open ...) is that of the installed command lagwatch.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
from typing import NoReturn

import lagwatch


def _fail(text: str, status: int = 2) -> NoReturn:
    print(f"lagwatch: {text}", file=sys.stderr)
    sys.exit(status)


def _options(arguments: list[str]) -> dict[str, str]:
    """Takes the options away from the begin of the arguments."""
    options = {}
    while arguments and arguments[0].startswith("--"):
        name, _, value = arguments.pop(0)[2:].partition("=")
        if not name:  # "--"
            break
        if not value:
            if not arguments:
                _fail(f"--{name} needs a value")
            value = arguments.pop(0)
        options[name.replace("-", "_")] = value
    return options


def _run(arguments: list[str]) -> None:
    options = _options(arguments)
    if not arguments or arguments == ["-m"]:
        _fail("run needs a script, or -m and a module")
    is_module = arguments[0] == "-m"
    sys.argv = arguments[1:] if is_module else arguments
    options.setdefault("app", sys.argv[0] if is_module else os.path.splitext(os.path.basename(sys.argv[0]))[0])
    try:
        is_on = lagwatch.start(**options)  # type: ignore[arg-type]
    except ValueError as error:
        _fail(str(error))
    if not is_on:
        print(f"lagwatch: off: {lagwatch.why_off()}", file=sys.stderr)
    if is_module:
        if sys.path[0] != "":
            sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
    elif arguments[0] == "--version":
        print(f"lagwatch {lagwatch.version()}")
    elif arguments[0] == "run":
        _run(arguments[1:])
    else:
        command = os.environ.get("LAGWATCH_COMMAND") or shutil.which("lagwatch")
        if not command:
            _fail(f"'{arguments[0]}' needs the command lagwatch, of the Debian package or the archive (docs/install.md)", 127)
        os.execv(command, ["lagwatch", *arguments])


main()
