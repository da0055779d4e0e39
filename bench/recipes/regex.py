# SPDX-License-Identifier: Apache-2.0
import os
import re
import select


def handle():
    re.match(r"(a+)+$", "a" * 25 + "b")  # FREEZE handle


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
