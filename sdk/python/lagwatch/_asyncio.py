# SPDX-License-Identifier: Apache-2.0
"""Watches the loops of asyncio: the waits of their selectors, and each callback's name. While lagwatch is off, asyncio
is as it was: no hook is left."""

from __future__ import annotations

import asyncio
from _thread import get_ident as _ident
from asyncio import events
from typing import Any

from lagwatch import _native

# The loop whose hooks are in place, of each thread that runs one.
_running: dict[int, Any] = {}
_set_loop = events._set_running_loop
_run = events.Handle._run  # type: ignore[attr-defined]


def _hook(loop: Any) -> None:
    selector = getattr(loop, "_selector", None)
    if selector is None:  # of another library, as uvloop's
        return
    try:
        selector.select = _native.waiter(selector.select)
    except AttributeError:  # one of the program's, with __slots__
        return
    _running[_ident()] = loop
    _native.own_loop("asyncio").wait_end()


def _unhook() -> None:
    loop = _running.pop(_ident(), None)
    if loop is None:
        return
    loop._selector.__dict__.pop("select", None)
    _native.own_loop("asyncio").wait_begin()


def _set_running_loop(loop: Any) -> None:
    _set_loop(loop)
    if _running.get(_ident()) is not loop:
        _unhook()
        if loop is not None:
            _hook(loop)


def start(tags: bool) -> None:
    """Watches each loop of asyncio from its start on; one that runs on this thread from now on."""
    events._set_running_loop = asyncio._set_running_loop = _set_running_loop  # type: ignore[assignment,attr-defined]
    if tags:
        _native.set_task_type(asyncio.Task)
        events.Handle._run = _native.handle_runner(events.Handle, _run)  # type: ignore[attr-defined]
    loop = events._get_running_loop()
    if loop is not None and _running.get(_ident()) is not loop:
        _hook(loop)


def stop() -> None:
    """Takes the hooks out. A loop that runs on another thread keeps that of its waits until it ends."""
    _unhook()
    events.Handle._run = _run  # type: ignore[attr-defined]
    if not _running:
        events._set_running_loop = asyncio._set_running_loop = _set_loop  # type: ignore[assignment,attr-defined]


def after_fork() -> None:
    """In a forked child: the loops that ran are the parent's."""
    _running.clear()
