# SPDX-License-Identifier: Apache-2.0
import os
import select


def handle():
    open(os.environ["FIFO"]).read()  # FREEZE handle


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
