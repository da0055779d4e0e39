# SPDX-License-Identifier: Apache-2.0
"""Watches the loops of gevent and of uvloop, which wait in libev or libuv, on each thread that runs one."""

from __future__ import annotations

import sys
from typing import Any, Callable

from lagwatch import _native

_LIBRARIES = ("libev.so.4", "libuv.so.1")
_has_tags = False
# Of a type's attribute that is replaced: what was there, and what is there now.
_replaced: list[tuple[type, str, Callable[..., Any], Callable[..., Any]]] = []


def _watch(name: str, *modules: str) -> None:
    files = [sys.modules[module].__file__ for module in modules if module in sys.modules]
    _native.watch_waits(name, *(file for file in files if file), *_LIBRARIES)


def _watch_hub() -> None:
    _watch("gevent", "gevent.libev.corecext", "gevent.libev._corecffi", "gevent.libuv._corecffi")
    import greenlet
    if _has_tags and greenlet.gettrace() is None:
        greenlet.settrace(_native.trace_switch)


def _replace(owner: type, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    run = getattr(owner, name)
    watched = make(run)
    _replaced.append((owner, name, run, watched))
    setattr(owner, name, watched)


def _watched_hub(run: Callable[..., Any]) -> Callable[..., Any]:
    def run_hub(self: Any, *arguments: Any) -> Any:
        _watch_hub()
        return run(self, *arguments)
    return run_hub


def _watched_loop(run_forever: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any) -> Any:
        _watch("uvloop", "uvloop.loop")
        try:
            return run_forever(self)
        finally:
            _native.unwatch_waits()
    return run


def start(tags: bool) -> None:
    """Watches the libraries that are imported by now."""
    global _has_tags
    _has_tags = tags
    if _replaced:
        return
    hub = sys.modules.get("gevent.hub")
    if hub is not None:
        _replace(hub.Hub, "run", _watched_hub)
        if hub._get_hub() is not None:  # it runs already
            _watch_hub()
    uvloop = sys.modules.get("uvloop")
    if uvloop is not None:
        _replace(uvloop.Loop, "run_forever", _watched_loop)


def stop() -> None:
    """Puts back what start() has replaced, unless another tool has replaced it since. A hub that runs goes on as it is: its
    waits cost 0.03 µs; on another thread, so do its switches."""
    while _replaced:
        owner, name, run, watched = _replaced.pop()
        if getattr(owner, name) is watched:
            setattr(owner, name, run)
    greenlet = sys.modules.get("greenlet")
    if greenlet is not None and greenlet.gettrace() is _native.trace_switch:
        greenlet.settrace(None)
