# SPDX-License-Identifier: Apache-2.0
"""Strangers with a valid project key, which is in every copy of a program: bodies that dribble, places that are taken, and
the writer's time."""
import gzip
import json
import os
import time

import wire
from attack import Attack, complain
from ingest_attacks import head, hold
from target import ADMIN, HOSTILE_KEY, NORMAL_KEYS, hammer, normal_address, repeat

BODY = 2 << 20  # eight of them are all that an address may have, less a kilobyte
NEW_CAUSES_PER_S = 1330


def unfinished(key, size=BODY, kept_back=152, path="/v1/reports"):
    """A body without its last bytes."""
    begin = head(path, size, f"Authorization: Bearer {key}\r\n" if key else "")
    return begin + b"x" * (size - kept_back)


def from_other_addresses(collector, seconds):
    """Four addresses hold all the room there is for bodies, at no cost."""
    hold(collector, seconds, unfinished(HOSTILE_KEY), 32, 4)
    return []


def with_the_same_key(collector, seconds):
    """The same with the key of a program that others use."""
    hold(collector, seconds, [unfinished(key) for key in NORMAL_KEYS[:4]], 32, 4)
    return []


def from_the_same_address(collector, seconds):
    """Bodies from the address that a well-behaved client has, with its key, as behind one NAT."""
    held = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            connection = collector.connect(normal_address(0))
            connection.sendall(unfinished(NORMAL_KEYS[0]))
            held.append(connection)
        except OSError:
            pass
        if len(held) > 12:
            held.pop(0).close()
        time.sleep(0.1)
    for connection in held:
        connection.close()
    return []


def from_many_addresses(collector, seconds):
    hold(collector, seconds, unfinished(HOSTILE_KEY, 400_000), 400, 200)
    return []


def many_small_ones(collector, seconds):
    hold(collector, seconds, unfinished(HOSTILE_KEY, 40_000, 10), 3000, 60)
    return []


def dribbled(collector, seconds):
    """A byte now and then, so that no pause is long."""
    hold(collector, seconds, unfinished(HOSTILE_KEY, BODY, 100_000), 32, 4, drip=b"x")
    return []


def without_a_key(collector, seconds):
    """The room of bodies whose key is in the body, while a program of Sentry's sends through a tunnel."""
    complaints = []
    stop = time.monotonic() + seconds - 1

    def ask(_number):
        envelope = json.dumps({"event_id": os.urandom(16).hex(), "dsn": f"http://{NORMAL_KEYS[1]}@h/1"}) + "\n"
        status = collector.ask("POST", "/api/1/envelope/", envelope, key=None, source=normal_address(1))[0]
        complain(complaints, status == 200 or time.monotonic() > stop, f"an envelope: {status}")
        time.sleep(0.1)

    def attack(_number):
        hold(collector, seconds - 1, unfinished("", 900_000, 10, "/api/1/envelope/"), 64, 16)
    hammer(2, seconds, lambda thread, number: (attack if thread else ask)(number))
    return complaints[:5]


def inflated(collector, seconds):
    """Small bodies that are large once they are opened, from many addresses at once."""
    records = [(wire.REPORT, wire.report((f"L{i % 9}", "main"), more=wire.data(900, b"\0" * 150_000))) for i in range(40)]
    body = gzip.compress(wire.batch(records))
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    hammer(8, seconds, lambda thread, number: collector.ask("POST", "/v1/reports", body, key=HOSTILE_KEY, headers=headers,
                                                            source=(thread + 2) << 8))
    return []


def read_keys(collector, count):
    keys = []
    for i in range(count):
        status, _, body = collector.ask("POST", "/v1/admin/keys", json.dumps({"name": f"reader-{i}", "access": "read"}),
                                        headers={"Content-Type": "application/json"})
        if status != 201:
            raise RuntimeError(f"no key: {status} {body!r}")
        keys.append(json.loads(body)["key"])
    return keys


def listen(collector, key, source):
    """A listener's connection and its status line."""
    connection = collector.connect(source)
    connection.sendall(f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    return connection, connection.recv(15)


def places_of_events(collector, seconds, listeners):
    """Takes all places that `listeners` (key, source) can have; then another key and address has to get one."""
    complaints = []
    held = [listen(collector, key, source)[0] for key, source in listeners]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection, answer = listen(collector, ADMIN, normal_address(3))
        complain(complaints, b" 200 " in answer, f"an honest listener: {answer}")
        connection.close()
        time.sleep(0.5)
    for connection in held:
        connection.close()
    return complaints[:3]


def events_of_a_key(collector, seconds):
    key = read_keys(collector, 1)[0]
    return places_of_events(collector, seconds, [(key, 256 * (2 + i % 40)) for i in range(110)])


def events_of_an_address(collector, seconds):
    keys = read_keys(collector, 10)
    return places_of_events(collector, seconds, [(keys[i % 10], 2) for i in range(110)])


def new_causes(records_at_once, sources, key=HOSTILE_KEY):
    """Reports of ever new causes at a fixed rate, which each cost the writer rows."""
    def run(collector, seconds):
        begin = time.monotonic()
        sent = 0

        def step(thread, number):
            nonlocal sent
            ahead = sent / NEW_CAUSES_PER_S - (time.monotonic() - begin)
            if ahead > 0:
                time.sleep(min(ahead, 0.2))
                return
            sent += records_at_once
            name = os.urandom(4).hex()
            records = [(wire.REPORT, wire.report((f"L{name}{i}", f"C{name}{i}", "main"), user=f"u{i}"))
                       for i in range(records_at_once)]
            collector.post(wire.batch(records), key=key, source=256 * (2 + (thread + number * 3) % sources))
        hammer(3, seconds, step)
        return []
    return run


def unlimited_causes(collector, seconds):
    """The same as fast as it is taken, from 30 networks with one key."""
    batches = []
    for _ in range(60):
        name = os.urandom(4).hex()
        batches.append(gzip.compress(wire.batch([(wire.REPORT, wire.report((f"L{name}{i}", f"C{name}{i}", "main")))
                                                 for i in range(500)]), 1))
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}

    def step(thread, number):
        place = number * 3 + thread
        if place >= len(batches):
            time.sleep(0.1)
            return
        collector.ask("POST", "/v1/reports", batches[place], key=HOSTILE_KEY, headers=headers, source=256 * (2 + place % 30))
    hammer(3, seconds, step)
    return []


def quota_of_a_key(collector, seconds):
    """One network uses up what a key may send; another one still has a part."""
    complaints = []
    body = json.dumps({"name": "shared", "access": "project", "reports_per_s": 50})
    key = json.loads(collector.ask("POST", "/v1/admin/keys", body, headers={"Content-Type": "application/json"})[2])["key"]
    batch = wire.batch([(wire.REPORT, wire.report())] * 20)

    def honest(_number):
        status = collector.post(wire.batch([(wire.REPORT, wire.report(app="honest"))]), key=key, source=256 * 9)[0]
        complain(complaints, status == 200, f"an honest upload: {status}")
        time.sleep(0.5)

    def flood(number):
        collector.post(batch, key=key, source=256 * 2 + number % 250 + 1)
        time.sleep(0.02)
    hammer(2, seconds, lambda thread, number: (flood if thread else honest)(number))
    return complaints[:3]


def secrets_in_logs(collector, seconds):
    """Keys where they do not belong: each place is one that a client or a person confuses."""
    complaints = []
    key = read_keys(collector, 1)[0]
    secrets = [HOSTILE_KEY, key]

    def step(number):
        secret = secrets[number % 2]
        targets = [f"http://{secret}@host/api/1/envelope/", f"http://{secret}:x@host/v1/clusters", f"/{secret}", f"/v1/{secret}/reports",
                   f"/api/{secret}/envelope/", f"/api/1/envelope/%3Fsentry_key={secret}", f"/api/1/store/;sentry_key={secret}",
                   f"/v1/clusters?token={secret}", f"/v1/reports/{secret}", f"/v1/clusters#{secret}"]
        for target in targets:
            for method in ("GET", "POST", secret):
                with collector.connect(2) as connection:
                    connection.sendall(f"{method} {target} HTTP/1.1\r\nHost: {secret}@x\r\nContent-Length: 0\r\n\r\n".encode())
                    connection.recv(500)
        envelope = json.dumps({"dsn": f"not://{secret}@@x"}) + "\n"
        collector.ask("POST", "/api/1/envelope/", envelope, key=None)
        collector.post(wire.batch([(wire.REPORT, b"\xff" + secret.encode())]))
        time.sleep(0.5)
    repeat(seconds, step)
    time.sleep(0.5)
    log = collector.log.read_text(errors="replace")
    for secret in secrets:
        lines = [line for line in log.splitlines() if secret in line]
        complain(complaints, not lines, f"{len(lines)} lines with a key, such as {lines[:1]}")
    return complaints


def attacks():
    held = [("held-from-other-addresses", from_other_addresses), ("held-with-the-same-key", with_the_same_key),
            ("held-from-the-same-address", from_the_same_address), ("held-from-many-addresses", from_many_addresses),
            ("held-small", many_small_ones), ("dribbled-bodies", dribbled), ("held-without-a-key", without_a_key)]
    return [*(Attack(name, run, seconds=14) for name, run in held),
            Attack("inflated-bodies", inflated, seconds=10),
            Attack("events-of-a-key", events_of_a_key),
            Attack("events-of-an-address", events_of_an_address),
            Attack("new-causes", new_causes(50, 1), seconds=15),
            Attack("new-causes-at-once", new_causes(2000, 1), seconds=30),
            Attack("new-causes-same-key", new_causes(200, 20, NORMAL_KEYS[0]), seconds=15),
            Attack("unlimited-causes", unlimited_causes, seconds=15),
            Attack("quota-of-a-key", quota_of_a_key),
            Attack("secrets-in-logs", secrets_in_logs, seconds=5)]
