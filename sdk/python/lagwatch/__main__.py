# SPDX-License-Identifier: Apache-2.0
"""python -m lagwatch run [--OPTION VALUE]... SCRIPT|-m MODULE [ARGUMENT]...

Runs a Python program with lagwatch on, as lagwatch.start(option=value) in its first line would have it.
Every other command (why, reports, report, clusters, open ...) is that of the installed command lagwatch.
"""

from __future__ import annotations

import builtins
import io
import os
import pkgutil
import runpy
import shutil
import sys
import types
from importlib.machinery import SourceFileLoader
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


def _run_script(path: str) -> None:
    """In the module __main__, which stays: threads go on when the script's top level has returned."""
    main = sys.modules["__main__"]
    if pkgutil.get_importer(path) is not None:  # a folder or an archive
        sys.path[0] = path
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    with io.open_code(os.path.abspath(path)) as file:
        code = pkgutil.read_code(file)  # type: ignore[attr-defined]
        if code is None:
            file.seek(0)
            code = compile(file.read(), path, "exec")
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    main.__dict__.update(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    exec(code, main.__dict__)


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
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules["__main__"].__dict__["__builtins__"] = builtins
    if is_module:
        if sys.path[0] != "":
            sys.path[0] = os.getcwd()
        runpy._run_module_as_main(sys.argv[0])  # type: ignore[attr-defined]
    else:
        _run_script(sys.argv[0])


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
