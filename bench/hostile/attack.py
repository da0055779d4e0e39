# SPDX-License-Identifier: Apache-2.0
"""The shape of an attack."""
import dataclasses
import typing


@dataclasses.dataclass
class Attack:
    """`run(collector, seconds)` attacks and returns complaints: what the collector should not have done or answered."""
    name: str
    run: typing.Callable
    flags: tuple = ()            # more of the collector's
    seconds: float = 8
    may_be_full: bool = False    # uploads of others may be answered 503 with Retry-After
    own_disk_mib: int = 0        # the data directory is on a tmpfs of that size
    moves_clock: bool = False    # the collector's wall clock can be moved (wall_clock.c)
    prepare: typing.Callable = None  # called before the collector starts; returns more flags, and what to close


def complain(complaints, is_fine, text):
    if not is_fine:
        complaints.append(text)
