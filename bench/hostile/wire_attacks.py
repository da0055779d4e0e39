# SPDX-License-Identifier: Apache-2.0
"""Connections, bodies and answers that are within each limit by itself."""
import gzip
import json
import os
import random
import socket
import struct
import time
import zlib

import wire
from attack import Attack, complain
from ingest_attacks import head, hold
from target import HOSTILE_KEY, hammer, question, repeat, report_path

UPLOAD = f"Authorization: Bearer {HOSTILE_KEY}\r\n"


def slow_heads(collector, seconds):
    """Slowloris: heads that never end."""
    hold(collector, seconds, b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nX-A: ", 1500, 100, drip=b"x")
    return []


def idle_connections(collector, seconds):
    """Connections on which nothing is sent."""
    hold(collector, seconds, b"", 4000, 100)
    return []


def churn(collector, seconds):
    """Connections that are reset as soon as they are there."""
    def step(thread, number):
        connection = collector.connect(2 + thread)
        connection.sendall([b"", b"GET", b"GET /v1/clusters HTTP/1.1\r\nHost: x\r\n\r\n"][number % 3])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    hammer(3, seconds, step)
    return []


def bad_gzip(collector, seconds):
    """Bombs, cut and damaged members, members within members, and several in a row."""
    complaints = []
    zeros = b"\0" * (8 << 20)
    good = wire.batch([(wire.REPORT, wire.report())])
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(compressor.compress(zeros) for _ in range(200)) + compressor.flush()
    bodies = [bomb, gzip.compress(zeros), gzip.compress(bomb), gzip.compress(good)[:-9], gzip.compress(good) * 2,
              gzip.compress(good) + b"x", b"\x1f\x8b", b"\x1f\x8b\x08\x1f" + b"x" * 100_000, zlib.compress(good),
              b"\x1f\x8b\x08\x08" + b"n" * 1_000_000]
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}

    def step(thread, number):
        body = bytearray(bodies[number % len(bodies)])
        if number >= len(bodies) and len(body) > 20:
            body[random.randrange(10, len(body))] ^= 255
        status = collector.ask("POST", "/v1/reports", bytes(body), key=HOSTILE_KEY, headers=headers,
                               source=2 + thread)[0]
        complain(complaints, status in (400, 413, 503) or number >= len(bodies), f"body {number}: {status}")
    hammer(3, seconds, step)
    return complaints[:5]


def deep_json(collector, seconds):
    """Nested and wide JSON where Sentry's events and the API take it."""
    complaints = []
    texts = ["[" * 500_000, '{"a":' * 150_000, "[" * 200_000 + "]" * 200_000, '{"exception":' + '{"values":[' * 60_000,
             '{"a":"' + "\\u0000" * 150_000 + '"}', "[" + "1," * 400_000 + "1]", '{"a":1e999999999}',
             json.dumps({f"k{i}": i for i in range(60_000)}), "-" * 900_000, '"' + "\xff" * 100_000]

    def step(thread, number):
        text = texts[number % len(texts)]
        status = collector.ask("POST", f"/api/1/store/?sentry_key={HOSTILE_KEY}", text.encode(), key=None,
                               source=2 + thread)[0]
        complain(complaints, status in (200, 400, 413, 503), f"an event of {text[:20]}…: {status}")
        envelope = '{"event_id":"' + "0" * 32 + '"}\n' + '{"type":"event"}\n' + text.replace("\n", "") + "\n"
        collector.ask("POST", f"/api/1/envelope/?sentry_key={HOSTILE_KEY}", envelope.encode(), key=None,
                      source=2 + thread)
        collector.ask("PUT", "/v1/admin/config", text.encode()[:1_000_000],
                      headers={"Content-Type": "application/json"}, source=2 + thread)
    hammer(2, seconds, step)
    return complaints[:5]


def wrong_keys(collector, seconds):
    """Invalid keys, each different, wherever a key is accepted."""
    complaints = []
    log_before = os.path.getsize(collector.log)

    def step(thread, number):
        key = os.urandom(8).hex()
        kind = number % 3
        if kind == 0:
            status = collector.ask("POST", "/v1/reports", b"x" * 100, key="k_" + key, source=2 + thread)[0]
        elif kind == 1:
            status = collector.ask("GET", "/v1/clusters", key="r_" + key * 100, source=2 + thread)[0]
        else:
            body = json.dumps({"dsn": f"http://k_{key}@h/1"}) + "\n"
            status = collector.ask("POST", "/api/1/envelope/", body, key=None, source=2 + thread)[0]
        complain(complaints, status == 401, f"a wrong key: {status}")
    hammer(3, seconds, step)
    written = os.path.getsize(collector.log) - log_before
    complain(complaints, written < 1 << 20, f"{written} bytes of log")
    return complaints[:5]


def deaf_listeners(collector, seconds):
    """Readers of events that never read, while reports with long texts come."""
    complaints = []
    listeners = []
    for i in range(300):
        connection = collector.connect(2 + i % 20)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(question("/v1/events"))
        listeners.append(connection)
    def step(number):
        collector.post(wire.batch([(wire.REPORT, wire.report((f"Leaf{number}-{i}" + "x" * 900, "main"), tag="t" * 1000,
                                                             user="u" * 1000)) for i in range(100)]), source=40)
    repeat(seconds, step, 0.05)
    for connection in listeners:
        connection.close()
    return complaints


def deaf_readers(collector, seconds):
    """Long answers that are asked for, pipelined, and never read."""
    for i in range(20):
        collector.post(wire.batch([(wire.REPORT, wire.report((f"Leaf{i}-{k}" + "x" * 300, "main"))) for k in range(100)]),
                       source=40)
    hold(collector, seconds, question("/v1/clusters?limit=1000") * 20, 60, 20)
    return []


def small_chunks(collector, seconds):
    """Bodies in chunks of one byte, and chunks whose heads are long."""
    begin = head("/v1/reports", 0, UPLOAD).replace(b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n")

    def step(thread, number):
        connection = collector.connect(2 + thread)
        try:
            connection.sendall(begin)
            connection.sendall((b"1\r\nx\r\n" if number % 2 else b"1;" + b"e" * 8000 + b"\r\nx\r\n") * 3000)
            connection.sendall(b"0\r\n\r\n")
            connection.recv(1000)
        finally:
            connection.close()
    hammer(3, seconds, step)
    return []


def largest_reports(collector, seconds):
    """Reports that are as large as they may be, and are looked at."""
    complaints = []
    modules = [(f"/usr/lib/lib{i}.so", bytes([i % 256, i >> 8] * 10)) for i in range(8000)]
    stacks = [[(1 + (i + k) % 8000, 4096 * k) for k in range(24)] for i in range(8000)]
    threads = b"".join(wire.data(23, wire.uint(1, i + 1) + wire.data(2, "n" * 15) + wire.uint(4, i + 1)) for i in range(5300))
    symbols = b"".join(wire.data(24, wire.uint(1, i % 8000 + 1) + wire.uint(2, 4096 * (i % 24)) +
                                 wire.data(3, f"Function{i}")) for i in range(40_000))
    report = wire.report(modules=modules, stacks=stacks, more=threads + symbols)

    def step(thread, number):
        id = wire.uuid7()
        answer = collector.post(wire.batch([(wire.REPORT, report.replace(report[2:18], id))]), source=2 + thread)
        complain(complaints, answer[0] in (200, 400, 413, 503), f"{answer}")
        collector.ask("GET", report_path(id), source=2 + thread)
        time.sleep(0.2)
    hammer(2, seconds, step)
    return complaints[:3]


def replay(collector, seconds):
    """One batch again and again, on several connections."""
    complaints = []
    batch = gzip.compress(wire.batch([(wire.REPORT, wire.report((f"Leaf{i % 5}", "main"))) for i in range(300)]))
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}

    def step(thread, number):
        collector.ask("POST", "/v1/reports", batch, key=HOSTILE_KEY, headers=headers, source=2 + thread)
    hammer(3, seconds, step)
    reports = sum(cause["reports"] for cause in collector.get("/v1/clusters?app=hostile"))
    complain(complaints, reports == 300, f"{reports} of 300 reports are counted")
    return complaints


def abandoned_questions(collector, seconds):
    """The most expensive lists, asked for by readers that leave at once."""
    for i in range(40):
        collector.post(wire.batch([(wire.REPORT, wire.report((f"Leaf{i}-{k}", f"Caller{k}", "main"), user=f"u{k}"))
                                   for k in range(500)]), source=40)
    paths = ["/v1/clusters?user=u7&limit=1000", "/v1/clusters?q=zzz&limit=1000", "/v1/usage?by=day&limit=1000",
             "/v1/clusters?loop=ui&kind=lag&limit=1000&days=90", "/v1/reports?verdict=cpu&limit=1000"]

    def step(number):
        connection = collector.connect(2 + number % 20)
        connection.sendall(question(paths[number % len(paths)]))
        connection.close()
    repeat(seconds, step, 0.1)
    return []


def garbage_records(collector, seconds):
    """Sealed records that cannot be opened, invalid traces, packed batches of noise, and unknown types."""
    complaints = []

    def step(number):
        kind = number % 4
        if kind == 0:
            records = [(wire.SEALED, wire.uint(1, 1) + wire.data(2, wire.uuid7()) + wire.data(5, os.urandom(32)) +
                        wire.data(6, os.urandom(12)) + wire.data(7, os.urandom(2000))) for _ in range(200)]
        elif kind == 1:
            records = [(wire.TRACE, wire.trace(content=os.urandom(5000))) for _ in range(100)]
        elif kind == 2:
            records = [(wire.PACKED, wire.uint(1, 1) + wire.data(2, b"x" * 1000) + wire.data(3, os.urandom(1000)) +
                        wire.data(4, os.urandom(100_000)))]
        else:
            records = [(77 + i % 400, os.urandom(200)) for i in range(1000)]
        status, answer = collector.post(wire.batch(records), source=2)
        complain(complaints, status in (200, 400, 413, 503), f"{kind}: {status} {str(answer)[:100]}")
    repeat(seconds, step)
    return complaints[:5]


def many_scenes(collector, seconds):
    """Frames, usage and ends of runs with scenes, loops and programs that each come once."""
    complaints = []

    def step(number):
        records = []
        for i in range(200):
            name = f"{number}-{i}-".ljust(900, "s")
            records.append((wire.FRAME_SLICE, wire.frames(scene=name, version=name)))
            records.append((wire.USAGE, wire.usage(version=name, loops=[(name, 10**9)] * 5)))
        collector.post(wire.batch(records), source=2)
    repeat(seconds, step)
    for path in ("/v1/frames", "/v1/usage", "/v1/usage?by=day", "/v1/losses"):
        status, _, body = collector.ask("GET", path)
        complain(complaints, status == 200 and len(body) <= 4 << 20, f"{path}: {status}, {len(body) >> 20} MiB")
    return complaints


def attacks():
    return [Attack(run.__name__.replace("_", "-"), run, seconds=seconds) for run, seconds in (
        (slow_heads, 12), (idle_connections, 12), (churn, 8), (bad_gzip, 8), (deep_json, 8), (wrong_keys, 8),
        (deaf_listeners, 12), (deaf_readers, 12), (small_chunks, 8), (largest_reports, 8), (replay, 8),
        (abandoned_questions, 8), (garbage_records, 8), (many_scenes, 8))]
