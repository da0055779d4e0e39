# SPDX-License-Identifier: Apache-2.0
"""Finds the line that froze a Python program: a loop of asyncio, a request, a worker's job.

    import lagwatch

    lagwatch.start(app="shop", threshold_ms=500)

A thread of lagwatch's own, which needs no interpreter, looks at the loops, captures the stacks of all threads while one
of them does not respond, and writes a report at once. `lagwatch reports` shows it.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

from lagwatch import _forks, _native
from lagwatch._native import Loop, dispatch, scope, wait

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lagwatch._options import Options

__all__ = ["Loop", "dispatch", "dump", "is_on", "ready", "scope", "set_scene", "set_value", "start", "stats", "stop", "version",
           "wait", "watch_loop", "why_off"]

_is_prepared = False


def _program() -> str:
    """The name of the script or of the module that runs."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None:
        return str(spec.parent or spec.name)
    return os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0] or "python"


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, (bool, int)) else str(value)


def start(*, watch_asyncio: bool = True, tags: bool = True, **options: Unpack[Options]) -> bool:
    """Starts lagwatch, with the options of docs/configuration.md by their names.

    Loops of asyncio are watched from then on, those that run already too (without tags: the calling thread's). A forked
    child (multiprocessing, gunicorn) is watched with the same options once it runs a loop, a dispatch or a scope. At exit
    lagwatch stops by itself.

    gevent and uvloop are watched, too, if they are imported by then.

    watch_asyncio: False leaves asyncio as it is, and does not import it.
    tags: names each callback of asyncio, by its task and coroutine; False costs less (docs/languages.md).

    Returns True if lagwatch is on, else why_off() says why: a program runs on without it. Raises ValueError for an option
    that does not exist or cannot be read.
    """
    given = {name: _text(value) for name, value in options.items() if value is not None}
    given.setdefault("app", _program())
    if _native.start(given) == _OFF:
        return False
    _prepare()
    if watch_asyncio:
        from lagwatch import _asyncio
        _asyncio.start(tags)
    if "gevent" in sys.modules or "uvloop" in sys.modules:
        from lagwatch import _hubs
        _hubs.start(tags)
    return True


def stop(flush_ms: int = 0) -> None:
    """Stops lagwatch, and waits up to flush_ms for what is on disk to be sent. asyncio is as it was."""
    for name in ("lagwatch._asyncio", "lagwatch._hubs"):
        if name in sys.modules:
            sys.modules[name].stop()
    _native.stop(flush_ms)


def is_on() -> bool:
    """Whether lagwatch watches this process. False in a forked child that has not used it yet."""
    return not _native.why_off()


def why_off() -> str:
    """The reason for which lagwatch is off, as a line for a log; empty if it is on."""
    return _native.why_off()


def watch_loop(name: str) -> Loop:
    """The calling thread's loop: the one that it has, or a new one of this name.

    For a loop of the program's own: mark its waits, by `with lagwatch.wait():` around them, or its dispatches, by
    `with lagwatch.dispatch(tag):`. The loop ends with its thread.
    """
    return _native.own_loop(name)


def ready() -> None:
    """The program is ready to be used; for reports of slow starts (option start)."""
    _native.ready()


def dump(reason: str) -> bool:
    """Requests a report with the stacks of all threads. False if lagwatch is off, or made one just now."""
    return _native.dump(reason)


def set_value(key: str, value: str | None) -> bool:
    """Sets the fact "app.KEY" of later reports; None removes it. It is sent: it must not name a person."""
    return _native.set_value(key, value)


def set_scene(scene: str) -> None:
    """Sets the program's current activity, such as a screen, for the record of this run."""
    _native.set_scene(scene)


def stats() -> dict[str, int]:
    """Counts of this process: hangs, reports_written, reports_dropped, reports_uploaded."""
    return _native.stats()


def version() -> str:
    """The version of the library, as "0.2.0"."""
    return _native.version()


_OFF = 2


def _prepare() -> None:
    global _is_prepared
    if not _is_prepared:
        _is_prepared = True
        atexit.register(stop)
        os.register_at_fork(after_in_child=_after_fork)
        _forks.start()
        _stop_with_child()


def _after_fork() -> None:
    _native.after_fork()
    module = sys.modules.get("lagwatch._asyncio")
    if module is not None:
        module.after_fork()
    _stop_with_child()


def _stop_with_child() -> None:
    """A child of multiprocessing ends by os._exit(), without atexit; its finalizers are those set after it began."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.register_after_fork(_native, _set_finalizer)


def _set_finalizer(_: object) -> None:
    sys.modules["multiprocessing.util"].Finalize(None, stop, exitpriority=-100)
