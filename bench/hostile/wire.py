# SPDX-License-Identifier: Apache-2.0
"""Records as programs send them (report/format/lagwatch.proto), with any value in any field."""
import gzip
import os
import struct
import time

REPORT, LAG_END, RUN_END, FRAME_SLICE, USAGE, LOSSES, PACKED, SEALED, TRACE = range(1, 10)


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def uint(tag, number):
    return varint(tag << 3) + varint(number)


def data(tag, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(value)) + value


def fixed64(tag, number):
    return varint(tag << 3 | 1) + struct.pack("<Q", number)


def packed(tag, numbers):
    return data(tag, b"".join(map(varint, numbers)))


def now_ms():
    return int(time.time() * 1000)


def uuid7(wall_ms=None):
    wall_ms = now_ms() if wall_ms is None else wall_ms
    tail = bytearray(os.urandom(10))
    tail[0] = tail[0] & 0x0F | 0x70
    tail[2] = tail[2] & 0x3F | 0x80
    return (wall_ms & (1 << 48) - 1).to_bytes(6, "big") + bytes(tail)


def stack(frames):
    """Of (module number from 1, offset) pairs, innermost first."""
    return data(20, packed(1, [module for module, _ in frames]) + packed(2, [offset + 16 for _, offset in frames]) +
                packed(3, [offset for _, offset in frames]))


def report(functions=("Leaf", "Caller", "main"), *, app="hostile", version="1", user="u", id=None, lag_id=None, ordinal=0,
           start_wall_ms=None, elapsed_ns=2_000_000_000, kind=1, cause=0, modules=None, stacks=None, loop="ui", tag="tag",
           sample_rate_ppm=0, more=b""):
    id = id or uuid7()
    out = data(1, id) + data(2, id) + data(3, lag_id or id) + uint(4, ordinal)
    out += data(5, app) + data(6, version) + data(7, user) + data(8, "Linux 6.1.0") + data(9, "x86_64")
    out += uint(10, 1) + uint(11, 2) + data(12, loop) + data(13, tag) + uint(14, kind) + uint(15, 500)
    out += uint(16, now_ms() if start_wall_ms is None else start_wall_ms) + uint(17, elapsed_ns)
    if modules is None:
        out += data(19, data(1, "/usr/bin/" + app[:50]) + data(2, b"\x01\xab\xff"))
        out += stack([(1, 4096 * (i + 1)) for i in range(len(functions))])
        out += b"".join(data(24, uint(1, 1) + uint(2, 4096 * (i + 1)) + data(3, name)) for i, name in enumerate(functions))
    else:
        out += b"".join(data(19, data(1, path) + data(2, build_id)) for path, build_id in modules)
        out += b"".join(stack(frames) for frames in stacks)
    out += data(21, uint(1, 50_000_000) + uint(2, 0)) + uint(33, sample_rate_ppm)
    if cause:
        out += fixed64(34, cause)
    return out + more


def lag_end(report_id, duration_ns):
    return data(1, report_id) + uint(2, duration_ns)


def usage(*, app="hostile", version="1", user="u", begin_ms=None, end_ms=None, loops=(("ui", 3_600_000_000_000),), ppm=0):
    out = data(1, uuid7()) + data(2, uuid7()) + data(3, app) + data(4, version) + data(5, user)
    out += uint(6, now_ms() - 1000 if begin_ms is None else begin_ms) + uint(7, now_ms() if end_ms is None else end_ms)
    return out + b"".join(data(8, data(1, loop) + uint(2, ns)) for loop, ns in loops) + uint(11, ppm)


def frames(*, app="hostile", version="1", scene="s", loop="ui", begin_ms=None, duration_ns=1_000_000_000, count=60):
    return (data(1, uuid7()) + data(2, uuid7()) + data(3, app) + data(4, version) + data(5, "u") + data(6, loop) +
            data(7, scene) + uint(8, now_ms() if begin_ms is None else begin_ms) + uint(9, duration_ns) +
            uint(10, 16_666_667) + uint(11, count) + uint(12, 1))


def losses(entries, *, app="hostile", version="1", end_ms=None):
    """`entries` are (reason, cause, count, ppm)."""
    end_ms = now_ms() if end_ms is None else end_ms
    out = data(1, uuid7()) + data(2, app) + data(3, version) + data(4, "u") + uint(5, end_ms - 1) + uint(6, end_ms)
    return out + b"".join(data(7, uint(1, reason) + fixed64(2, cause) + uint(3, count) + uint(4, ppm))
                          for reason, cause, count, ppm in entries)


def trace(*, begin_ms=None, duration_ns=1_000_000_000, content=b"", app="hostile"):
    id = uuid7()
    return (data(1, id) + data(2, id) + data(5, app) + data(6, "1") + data(7, "u") +
            uint(8, now_ms() if begin_ms is None else begin_ms) + uint(9, duration_ns) + data(10, "lag") +
            data(11, gzip.compress(content)))


def batch(records):
    """Of (record type, payload) pairs."""
    return b"".join(data(type, payload) for type, payload in records)
