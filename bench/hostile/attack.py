# SPDX-License-Identifier: Apache-2.0
"""The shape of an attack."""
import dataclasses
import typing

import wire


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


def send(collector, records, complaints, source=2):
    """Posts the records, which are taken unless the collector is busy; the number of those that it accepted."""
    status, answer = collector.post(wire.batch(records), source=source)
    complain(complaints, status in (200, 503), f"answered {status} {str(answer)[:200]}")
    return answer.get("accepted", 0)
