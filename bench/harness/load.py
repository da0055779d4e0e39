# SPDX-License-Identifier: Apache-2.0
"""Load that a suite makes itself: processes that only compute, each in a session of its own, as programs of other users are.

They end with the suite, however that ends.
"""
import contextlib
import os
import time

from harness.processes import QUIET, running
from harness.suite import progress

SPINNER = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]


@contextlib.contextmanager
def load_of(count):
    """So many processes that compute; at 1 the machine is left as it is."""
    with running([SPINNER] * (count if count > 1 else 0), **QUIET):
        time.sleep(2 if count > 1 else 0)
        yield
        progress(f"load {count}: the machine's was {os.getloadavg()[0]:.1f} in the end")


def figures_at(loads, measure):
    """The figures that `measure` returns for each load; the keys of all but load 1 begin with it."""
    figures = {}
    for load in loads:
        with load_of(load):
            figures |= {key if load == 1 else f"load{load}_{key}": value for key, value in measure(load).items()}
    return figures
