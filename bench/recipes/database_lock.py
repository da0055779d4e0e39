# SPDX-License-Identifier: Apache-2.0
import os
import select
import sqlite3
import tempfile

path = tempfile.mkdtemp() + "/orders"
first = sqlite3.connect(path, isolation_level=None)
first.execute("create table t (x)")
first.execute("begin exclusive")
second = sqlite3.connect(path, timeout=1.2)


def handle():
    try:
        second.execute("insert into t values (1)")  # FREEZE handle
    except sqlite3.OperationalError:
        pass


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
