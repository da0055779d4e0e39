# SPDX-License-Identifier: Apache-2.0
import os
import select
import time


def rows():
    yield 1
    time.sleep(1)  # FREEZE rows
    yield 2


def handle():
    return sorted(rows())


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
