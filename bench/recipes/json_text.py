# SPDX-License-Identifier: Apache-2.0
import json
import os
import select


def handle():
    rows = [{"id": i, "tags": [str(i)] * 5} for i in range(150_000)]
    for _ in range(6): json.loads(json.dumps(rows))  # FREEZE handle


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
