# SPDX-License-Identifier: Apache-2.0
import os
import select
import time


def handle():
    end = time.monotonic() + 1
    total = 0
    while time.monotonic() < end: total += 1  # FREEZE handle


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
