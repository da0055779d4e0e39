# SPDX-License-Identifier: Apache-2.0
"""A loop whose handler looks files up, and whose next turns run another function until a second is over."""
import os
import select
import time


def look_up():
    for number in range(4100):
        try:
            os.stat(f"none{number}")
        except FileNotFoundError:
            pass


def later():
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass


poll = select.poll()
for turn in range(60):
    poll.poll(5)
    look_up() if turn == 3 else later()
print("calls=4100")
