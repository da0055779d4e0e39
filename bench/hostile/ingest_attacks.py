# SPDX-License-Identifier: Apache-2.0
"""Uploads that cannot be right, room that is reserved and not used, and a disk that is full."""
import json
import os
import time

import wire
from attack import Attack, complain
from target import HOSTILE_KEY, repeat

DAY_MS = 86_400_000
BEYOND_DATES_MS = 8_640_000_000_000_001  # JavaScript's Date ends a millisecond before
WORST = [BEYOND_DATES_MS, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0]


def implausible_records():
    now = wire.now_ms()
    for wall_ms in WORST:
        yield wire.REPORT, wire.report(start_wall_ms=wall_ms)
        yield wire.USAGE, wire.usage(end_ms=wall_ms)
        yield wire.FRAME_SLICE, wire.frames(begin_ms=wall_ms)
        yield wire.LOSSES, wire.losses([(1, 7, 5, 0)], end_ms=wall_ms)
        yield wire.TRACE, wire.trace(begin_ms=wall_ms)
    for wall_ms in (now + 2 * DAY_MS, now - 92 * DAY_MS, (1 << 48) - 1, 0):
        yield wire.REPORT, wire.report(id=wire.uuid7(wall_ms))
        yield wire.LAG_END, wire.lag_end(wire.uuid7(wall_ms), 5)
    for ns in (31 * 86_400 * 10**9, 1 << 63, (1 << 64) - 1):
        yield wire.REPORT, wire.report(elapsed_ns=ns)
        yield wire.LAG_END, wire.lag_end(wire.uuid7(), ns)
        yield wire.FRAME_SLICE, wire.frames(duration_ns=ns)
        yield wire.TRACE, wire.trace(duration_ns=ns)


def implausible_times(collector, seconds):
    complaints = []
    sent = answered = 0

    def step(number):
        nonlocal sent, answered
        records = list(implausible_records())
        status, answer = collector.post(wire.batch(records), source=2)
        complain(complaints, status == 200, f"answered {status} {answer}")
        sent += len(records)
        answered += answer.get("refused", 0)
        event = {"event_id": os.urandom(16).hex(), "timestamp": "9999-01-01T00:00:00Z",
                 "exception": {"values": [{"type": "AppHang", "value": "App hung for at least 5234 ms.",
                                           "mechanism": {"type": "AppHang"}}]}}
        status, _, body = collector.ask("POST", f"/api/1/store/?sentry_key={HOSTILE_KEY}", json.dumps(event), key=None)
        complain(complaints, status == 400 and b'"refused"' in body, f"a Sentry event of 9999: {status} {body[:200]!r}")
        sent += 1
        answered += b'"refused"' in body
    repeat(seconds, step, 0.02)
    counted = collector.metric('lagwatch_records_total{result="refused"}')
    complain(complaints, answered == sent, f"{answered} of {sent} were answered as refused")
    complain(complaints, counted == sent, f"{counted} of {sent} were counted as refused")
    complain(complaints, collector.get("/v1/reports?app=hostile") == [], "a report was stored")
    complain(complaints, collector.get("/v1/usage?app=hostile") == [], "a usage record was stored")
    complain(complaints, collector.get("/v1/losses?app=hostile") == [], "losses were stored")
    return complaints


def hold(collector, seconds, text, connections, sources, drip=b""):
    """Keeps so many connections open on which `text` (or one of a list) was sent, and no more than `drip` now and then."""
    texts = text if isinstance(text, list) else [text]
    held = []
    end = time.monotonic() + seconds
    opened = 0
    while time.monotonic() < end:
        if len(held) < connections:
            try:
                connection = collector.connect(2 + opened % sources)
                connection.sendall(texts[opened // sources % len(texts)])
                connection.setblocking(False)
                held.append(connection)
            except OSError:
                time.sleep(0.01)
            opened += 1
            if len(held) < connections:
                continue
        for connection in list(held):
            try:
                if drip:
                    connection.send(drip)
                if connection.recv(4096) == b"":
                    raise OSError
            except BlockingIOError:
                continue
            except OSError:
                connection.close()
                held.remove(connection)
        time.sleep(0.3)
    for connection in held:
        connection.close()
    return opened


def head(path, length, more=""):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: {length}\r\n{more}"
            "\r\n").encode()


SIZES = (2_000_000, 2_000_000, 200_000, 20_000, 17_000, 1000)  # so that nothing is left for a smaller body


def keyless_heads(collector, seconds):
    hold(collector, seconds, [head("/api/1/envelope/", size) for size in SIZES], 400, 32)
    return []


def keyed_heads(collector, seconds):
    key = f"Authorization: Bearer {HOSTILE_KEY}\r\n"
    hold(collector, seconds, [head("/v1/reports", size, key) for size in SIZES], 400, 32)
    return []


def half_bodies(collector, seconds):
    hold(collector, seconds, head("/v1/reports", 2_000_000, f"Authorization: Bearer {HOSTILE_KEY}\r\n") + b"x" * 1000, 400,
         32, drip=b"x" * 1000)
    return []


def keyless_bodies(collector, seconds):
    """Bodies that are sent nearly whole, so that they hold what a body without a key may hold."""
    hold(collector, seconds, head("/api/1/envelope/", 1_000_000) + b"x" * 900_000, 60, 16)
    return []


def fill(path, free_mib):
    """Leaves so much free on the file system of `path`."""
    status = os.statvfs(path)
    free = status.f_bavail * status.f_frsize - free_mib * (1 << 20)
    with open(os.path.join(path, "filler"), "ab") as filler:
        if free > 0:
            os.posix_fallocate(filler.fileno(), filler.seek(0, os.SEEK_END), free)


def full_disk(collector, seconds):
    complaints = []
    mount = os.path.dirname(collector.data)
    upload = lambda: collector.ask("POST", "/v1/reports", wire.batch([(wire.REPORT, wire.report())]), key=HOSTILE_KEY,
                                   headers={"Content-Type": "application/x-protobuf"}, source=2)  # noqa: E731
    time.sleep(1)
    complain(complaints, upload()[0] == 200, "an upload before the disk is full is not taken")
    key = collector.get("/v1/clusters?app=hostile")[0]["key"]
    for free_mib in (60, 0):
        fill(mount, free_mib)
        end = time.monotonic() + seconds / 3
        while time.monotonic() < end:
            status, headers, body = upload()
            complain(complaints, status == 503 and "Retry-After" in headers, f"{free_mib} MiB free: {status} {body[:100]!r}")
            status, _, body = collector.ask("GET", "/readyz", key=None)
            complain(complaints, status == 503 and b"disk" in body, f"/readyz: {status} {body[:100]!r}")
            complain(complaints, collector.ask("GET", "/v1/clusters")[0] == 200, "the list is not answered")
            time.sleep(0.1)
        status = collector.ask("PATCH", f"/v1/admin/clusters/{key}", json.dumps({"title": f"at {free_mib}"}),
                               headers={"Content-Type": "application/json"})[0]
        complain(complaints, status == (200 if free_mib else 503), f"a change at {free_mib} MiB: {status}")
    title = collector.get(f"/v1/clusters/{key}")["title"]
    noted = [entry["details"].get("title") for entry in collector.get("/v1/admin/audit")]
    complain(complaints, title == "at 60" and noted == ["at 60"], f"the title is {title!r}, the audit log has {noted}")
    os.remove(os.path.join(mount, "filler"))
    complain(complaints, upload()[0] == 200, "an upload after there is room again is not taken")
    complain(complaints, collector.ask("GET", "/readyz", key=None)[0] == 200, "/readyz does not recover")
    return complaints


def attacks():
    return [
        Attack("implausible-times", implausible_times),
        Attack("keyless-heads", keyless_heads, seconds=14),
        Attack("keyed-heads", keyed_heads, seconds=14),
        Attack("half-bodies", half_bodies, seconds=14),
        Attack("keyless-bodies", keyless_bodies),
        Attack("full-disk", full_disk, seconds=9, flags=("--min-free-mib", "64"), may_be_full=True, own_disk_mib=256),
    ]
