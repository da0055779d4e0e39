# SPDX-License-Identifier: Apache-2.0
"""Watches the loops of asyncio: the waits of their selectors, and each callback's name. While lagwatch is off, asyncio
is as it was: no hook is left."""

from __future__ import annotations

import asyncio
from _thread import get_ident as _ident
from asyncio import events
from typing import Any, Callable, NamedTuple

from lagwatch import _native


class _Hooked(NamedTuple):
    loop: Any
    waiter: Any  # in place of its selector's select()
    own_select: Any  # what the program had there; None: nothing


# The loop whose hooks are in place, of each thread that runs one.
_running: dict[int, _Hooked] = {}
_is_on = False
# Of an object's attribute that is replaced: what was there, and what is there now.
_replaced: dict[tuple[Any, str], tuple[Any, Any]] = {}
_set_loop: Any = events._set_running_loop


def _hook(loop: Any) -> None:
    selector = getattr(loop, "_selector", None)
    if selector is None:  # of another library, as uvloop's
        return
    own_select = getattr(selector, "__dict__", {}).get("select")
    waiter = _native.waiter(selector.select)
    try:
        selector.select = waiter
    except AttributeError:  # one of the program's, with __slots__
        return
    _running[_ident()] = _Hooked(loop, waiter, own_select)
    _native.own_loop("asyncio").wait_end()


def _unhook() -> None:
    hooked = _running.pop(_ident(), None)
    if hooked is None:
        return
    selector = hooked.loop._selector
    if getattr(selector, "__dict__", {}).get("select") is hooked.waiter:
        del selector.select
        if hooked.own_select is not None:
            selector.select = hooked.own_select
    _native.own_loop("asyncio").wait_begin()


def _hook_running_loop() -> None:
    """Called on each thread that runs callbacks, at its first one: the loop may have run before start()."""
    loop = events._get_running_loop()
    if _is_on and loop is not None and _ident() not in _running:
        _hook(loop)


def _set_running_loop(loop: Any) -> None:
    _set_loop(loop)
    hooked = _running.get(_ident())
    if hooked is not None and hooked.loop is loop:
        return
    _unhook()
    if not _is_on:
        _restore()
    elif loop is not None:
        _hook(loop)


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    now = getattr(owner, name)
    if (owner, name) not in _replaced:
        _replaced[owner, name] = now, make(now)
    before, value = _replaced[owner, name]
    if now is before:  # else another tool's function calls ours
        setattr(owner, name, value)


def _restore() -> None:
    """Puts back what start() has replaced, unless another tool has replaced it since. Loops that run on other threads
    need _set_running_loop() until they end."""
    for (owner, name), (before, value) in list(_replaced.items()):
        if getattr(owner, name) is value and not (value is _set_running_loop and _running):
            setattr(owner, name, before)
            del _replaced[owner, name]


def _own_set(before: Any) -> Any:
    global _set_loop
    _set_loop = before
    return _set_running_loop


def _own_run(before: Any) -> Any:
    return _native.handle_runner(events.Handle, before, _hook_running_loop)


def start(tags: bool) -> None:
    """Watches each loop of asyncio from its start on; one that runs on this thread from now on, and, with tags, one that
    runs on another thread from its next callback on."""
    global _is_on
    _is_on = True
    for owner in (events, asyncio):
        _replace(owner, "_set_running_loop", _own_set)
    if tags:
        _native.set_task_type(asyncio.Task)
        _replace(events.Handle, "_run", _own_run)
    _hook_running_loop()


def stop() -> None:
    """Takes the hooks out. A loop that runs on another thread keeps that of its waits until it ends."""
    global _is_on
    _is_on = False
    _unhook()
    _restore()


def after_fork() -> None:
    """In a forked child: the loops that ran are the parent's."""
    _running.clear()
