# SPDX-License-Identifier: Apache-2.0
"""From Python 3.12 on, a fork warns if the process has other threads, because their locks may be held in the child for ever.
lagwatch's own prepare for a fork, and are no reason to warn."""

from __future__ import annotations

import os
import sys
import warnings

_TEXT = "is multi-threaded, use of fork"


def _has_threads_of_its_own() -> bool:
    count = 0
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/comm", encoding="utf-8", errors="replace") as name:
                count += not name.read().startswith("lagwatch")
        except OSError:  # it has ended
            pass
    return count > 1


class _OnlyOurs:
    """A warning's text that is to be left out, in the place of a regular expression."""

    def match(self, text: str) -> bool:
        return _TEXT in text and not _has_threads_of_its_own()


def start() -> None:
    """Leaves the warning out where lagwatch's threads are the only others. A program that sets its filters later gets it."""
    if sys.version_info >= (3, 12):
        warnings.filterwarnings("ignore", message=_TEXT, category=DeprecationWarning)
        warnings.filters[0] = ("ignore", _OnlyOurs(), DeprecationWarning, None, 0)  # type: ignore[index]
