# SPDX-License-Identifier: Apache-2.0
"""Watches the requests of a WSGI application, such as one of Flask or Django under gunicorn.

    app = lagwatch.wsgi.Watched(app)

Each request is a dispatch of the thread that serves it; a slow one is a hang, with its method and route as the tag.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Iterator

from lagwatch import _native

# Parts of a path that are one thing's: numbers and long hexadecimal ones. Their number would be unlimited.
_IDS = re.compile(r"(?<=/)(?:\d+|[0-9a-fA-F-]{16,})(?=/|$)")


def route_of(environ: dict[str, Any]) -> str:
    """The method and the path without its numbers and without the query: "GET /orders/N"."""
    return f"{environ.get('REQUEST_METHOD', '')} {_IDS.sub('N', environ.get('PATH_INFO', '') or '/')}"


class _Body:
    """An answer that is made while it is sent."""

    def __init__(self, body: Iterable[bytes], tag: str) -> None:
        self._body = body
        self._iterator = iter(body)
        self._tag = tag

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with _native.dispatch(self._tag):
            return next(self._iterator)

    def close(self) -> None:
        close = getattr(self._body, "close", None)
        if close is not None:
            with _native.dispatch(self._tag):
                close()


class Watched:
    """An application whose requests are watched.

    route: gives a request's tag; it must be one of few texts, without anything personal. Default: route_of().
    """

    def __init__(self, app: Callable[..., Iterable[bytes]], *, route: Callable[[dict[str, Any]], str] = route_of) -> None:
        self._app = app
        self._route = route

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        tag = _native.name_of_request(self._route(environ))
        loop = _native.own_loop("wsgi")
        if loop.name == "gevent":  # other greenlets run in between: the name holds until the first of them does
            loop.turn(tag)
            return self._app(environ, start_response)
        with _native.dispatch(tag):
            body = self._app(environ, start_response)
        wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(body, (list, tuple)) or isinstance(wrapper, type) and isinstance(body, wrapper):
            return body
        return _Body(body, tag)
