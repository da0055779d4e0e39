# SPDX-License-Identifier: Apache-2.0
"""Reports that are valid one by one and cost too much together: names, sums, symbols, estimates, and the clock."""
import os
import socket
import threading
import time

import wire
from attack import Attack, complain, send
from target import hammer, repeat, report_path

MANY = 500  # reports of a batch


def long_names(collector, seconds):
    """Versions and apps of a kilobyte, each of its own."""
    complaints = []

    def step(thread, number):
        names = [f"{thread}-{number}-{i}-".ljust(1000, "x") for i in range(MANY)]
        records = [(wire.REPORT, wire.report((f"Leaf{i % 20}", "main"), app=name if number % 2 else "hostile",
                                             version=name, user=name)) for i, name in enumerate(names)]
        send(collector, records, complaints, 2 + thread)
    hammer(2, seconds, step)
    for path in ("/v1/clusters", "/v1/clusters?app=hostile", "/v1/clusters?limit=1000"):
        status, _, body = collector.ask("GET", path)
        complain(complaints, status == 200 and len(body) <= 4 << 20, f"{path}: {status}, {len(body) >> 20} MiB")
    return complaints


def many_causes(collector, seconds):
    """One cause as the client has it, of ever new causes as the collector has them, beside losses of it."""
    complaints = []
    end = time.monotonic() + seconds
    slowest = 0.0
    number = 0
    while time.monotonic() < end:
        records = [(wire.REPORT, wire.report((f"Leaf{number}-{i}", f"Caller{number}-{i}", "main"), cause=7))
                   for i in range(MANY)]
        send(collector, records, complaints)
        number += 1
        begin = time.monotonic()
        send(collector, [(wire.LOSSES, wire.losses([(1, 7, 1, 0)])), (wire.REPORT, wire.report(cause=7))], complaints)
        slowest = max(slowest, time.monotonic() - begin)
    complain(complaints, slowest < 2, f"a report beside {number * MANY} causes took {slowest:.1f} s")
    return complaints


def one_lag(collector, seconds):
    """Reports of one hang, without end."""
    complaints = []
    lag = wire.uuid7()

    def step(number):
        send(collector, [(wire.REPORT, wire.report((f"Leaf{i % 7}", "main"), lag_id=lag, ordinal=number * MANY + i + 1,
                                                   elapsed_ns=(number * MANY + i + 1) * 10**6)) for i in range(MANY)],
             complaints)
    repeat(seconds, step)
    return complaints


class SilentServer:
    """Takes connections and answers nothing, as a debuginfod server that hangs."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                self.connections.append(self.listener.accept()[0])
            except OSError:
                return

    def close(self):
        self.listener.close()
        for connection in self.connections:
            connection.close()


def prepare_silent_server():
    server = SilentServer()
    port = server.listener.getsockname()[1]
    return ("--debuginfod", f"http://127.0.0.1:{port}"), server


def unknown_modules(collector, seconds):
    """Modules of which a server that does not answer is asked, while readers look at their reports."""
    complaints = []
    ids = []
    for _ in range(3):
        modules = [(f"/usr/lib/lib{i}.so", os.urandom(20)) for i in range(8000)]
        stacks = [[(1 + (i * 100 + k) % 8000, 4096 * k) for k in range(100)] for i in range(80)]
        id = wire.uuid7()
        ids.append(id)
        threads = b"".join(wire.data(23, wire.uint(1, i + 1) + wire.uint(4, i + 1)) for i in range(80))
        send(collector, [(wire.REPORT, wire.report(modules=modules, stacks=stacks, id=id, more=threads))], complaints)

    def step(thread, number):
        begin = time.monotonic()
        status = collector.ask("GET", report_path(ids[number % len(ids)]), source=2 + thread)[0]
        taken = time.monotonic() - begin
        complain(complaints, status in (200, 503) and taken < 5, f"a report: {status} after {taken:.1f} s")
    hammer(4, seconds, step, 0.1)
    return complaints[:5]


def poisoned_estimates(collector, seconds):
    """Counts that would outweigh all that was ever received."""
    complaints = []

    def step(number):
        records = [(wire.LOSSES, wire.losses([(1, 7, count, 1) for count in (1 << 63, (1 << 64) - 1, 1 << 40)])),
                   (wire.REPORT, wire.report(cause=7, sample_rate_ppm=1)),
                   (wire.USAGE, wire.usage(loops=[("ui", (1 << 63) - 1)] * 20, ppm=1))]
        send(collector, records, complaints)
    repeat(seconds, step, 0.02)
    causes = collector.get("/v1/clusters?limit=1000")
    for cause in causes:
        estimated = cause["estimated"]
        complain(complaints, estimated["hangs"] is not None and 0 <= estimated["hangs"] < 1e12,
                 f"{cause['apps']}: an estimate of {estimated}")
    complain(complaints, all(0 <= cause["share"] <= 1 for cause in causes), "shares are not within 0 and 1")
    return complaints[:5]


def jumping_clock(collector, seconds):
    """The collector's wall clock goes 100 days ahead and comes back."""
    complaints = []
    time.sleep(2)
    count = lambda: sum(cause["reports"] for cause in collector.get("/v1/clusters?app=normal&limit=1000"))  # noqa: E731
    before = count()
    for days in (100, 0, -100, 0):
        collector.move_clock(days * 86_400)
        time.sleep(max(seconds / 4, 3))
        after = count()
        complain(complaints, after >= before > 0, f"{before} reports before the clock moved by {days} days, {after} after")
        before = max(before, after)
    return complaints


def attacks():
    return [
        Attack("long-names", long_names, seconds=10),
        Attack("many-causes", many_causes, seconds=20),
        Attack("one-lag", one_lag, seconds=20),
        Attack("unknown-modules", unknown_modules, prepare=prepare_silent_server),
        Attack("poisoned-estimates", poisoned_estimates, seconds=4),
        Attack("jumping-clock", jumping_clock, seconds=48, moves_clock=True),
    ]
