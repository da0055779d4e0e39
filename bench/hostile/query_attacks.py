# SPDX-License-Identifier: Apache-2.0
"""Questions that cost much, from clients that do not wait for the answers, and names that questions have to carry."""
import time

import wire
from attack import Attack, complain, send
from target import hammer, question, repeat

MANY = 500        # reports of a batch
SLOW_ANSWER_S = 5  # of one question after the attack


def fill(collector, complaints, batches):
    """Reports of one user: a list of theirs is summed up report by report."""
    for number in range(batches):
        records = [(wire.REPORT, wire.report((f"Leaf{number}-{i}", f"Caller{i}", "main"), user="one"))
                   for i in range(MANY)]
        send(collector, records, complaints)


def leaving_readers(collector, seconds):
    """Each asks for a list that takes long, and closes the connection at once."""
    complaints = []
    fill(collector, complaints, 20)

    def step(thread, _number):
        connection = collector.connect(source=2 + thread)
        connection.sendall(question("/v1/clusters?user=one&limit=1000"))
        connection.close()
    hammer(4, seconds, step, 0.02)
    begin = time.monotonic()
    status = collector.ask("GET", "/v1/clusters?app=normal", timeout=60)[0]
    taken = time.monotonic() - begin
    complain(complaints, status == 200 and taken < SLOW_ANSWER_S,
             f"a question after them: {status} after {taken:.1f} s")
    return complaints


def long_functions(collector, seconds):
    """Functions with names of 60 KB, which are in the list of causes."""
    complaints = []

    def step(number):
        records = [(wire.REPORT, wire.report(tuple(f"{number}-{i}-{k}".ljust(60_000, "x") for k in range(4)) + ("main",)))
                   for i in range(20)]
        send(collector, records, complaints)
    repeat(seconds, step, 0.05)
    for path in ("/v1/clusters", "/v1/reports", "/v1/clusters?limit=1000"):
        status, _, body = collector.ask("GET", path)
        complain(complaints, status in (200, 413) and len(body) <= 32 << 20, f"{path}: {status}, {len(body) >> 20} MiB")
    complain(complaints, collector.ask("GET", "/v1/clusters")[0] == 200, "the list of causes is refused")
    return complaints


def attacks():
    return [
        Attack("leaving-readers", leaving_readers),
        Attack("long-functions", long_functions),
    ]
