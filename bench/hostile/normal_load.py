#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Well-behaved programs, each with a key and an address of its own, and readers beside an attack, until standard input ends. A process of its own: the attack does not
hold its interpreter's lock. Prints one JSON object: the requests, those that failed, their p99_ms and max_ms, and how many
reports the collector has acknowledged.
"""
import argparse
import collections
import gzip
import http.client
import json
import pathlib
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import wire
from harness.suite import percentile
from target import ADMIN, NORMAL_KEYS, normal_address

FAILED_MS = 60_000.0  # counts as the time of a request that failed


class Client:
    """One keep-alive connection."""

    def __init__(self, port, address="127.0.0.1"):
        self.port = port
        self.address = address
        self.connection = None

    def ask(self, method, path, body=None, headers=None):
        for is_last in (False, True):
            is_new = self.connection is None
            if is_new:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30,
                                                             source_address=(self.address, 0))
            try:
                self.connection.request(method, path, body, headers or {})
                answer = self.connection.getresponse()
                content = answer.read()
                if answer.will_close:
                    self.close()
                return answer.status, answer.headers, content
            except (OSError, http.client.HTTPException):
                # A connection that was idle may have been closed by the collector; a new one may not.
                self.close()
                if is_new or is_last:
                    raise
        raise AssertionError

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class NormalLoad:
    def __init__(self, port, may_be_full):
        self.port = port
        self.may_be_full = may_be_full
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.times_ms = []
        self.slowest = collections.defaultdict(float)
        self.failures = collections.Counter()
        self.acknowledged = 0

    def note(self, what, begin, problem=None):
        taken_ms = (time.monotonic() - begin) * 1000
        with self.lock:
            self.times_ms.append(FAILED_MS if problem else taken_ms)
            self.slowest[what] = max(self.slowest[what], taken_ms)
            if problem:
                self.failures[f"{what}: {problem}"] += 1

    def is_fine(self, status, headers, is_upload):
        return status == 200 or (is_upload and self.may_be_full and status == 503 and "Retry-After" in headers)

    def perform(self, client, what, method, path, body=None, headers=None):
        begin = time.monotonic()
        try:
            status, answer_headers, content = client.ask(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.note(what, begin, type(error).__name__)
            return None
        is_fine = self.is_fine(status, answer_headers, what == "upload")
        self.note(what, begin, None if is_fine else f"{status} {content[:80]!r}")
        return content if status == 200 else None

    def upload(self, index):
        client = Client(self.port, normal_address(index))
        headers = {"Authorization": f"Bearer {NORMAL_KEYS[index]}", "Content-Type": "application/x-protobuf",
                   "Content-Encoding": "gzip"}
        number = 0
        while not self.stop.wait(0.5):
            number += 1
            records = []
            for i in range(2):
                id = wire.uuid7()
                functions = (f"Function{(number + i) % 20}", "Handler", "Loop", "main")
                records.append((wire.REPORT, wire.report(functions, app="normal", version="2.1", user=f"user{index}", id=id)))
                records.append((wire.LAG_END, wire.lag_end(id, 3_000_000_000)))
            content = self.perform(client, "upload", "POST", "/v1/reports", gzip.compress(wire.batch(records), 1), headers)
            if content is not None:
                answer = json.loads(content)
                if answer["accepted"] != len(records):
                    self.note("upload", time.monotonic(), f"stored {answer['accepted']} of {len(records)}: {content[:200]!r}")
                # One more per report than its end.
                with self.lock:
                    self.acknowledged += answer["accepted"] // 2

    def read(self, _):
        client = Client(self.port)
        headers = {"Authorization": f"Bearer {ADMIN}"}
        while not self.stop.wait(0.2):
            content = self.perform(client, "clusters", "GET", "/v1/clusters?app=normal&limit=20", None, headers)
            causes = json.loads(content) if content else []
            if causes:
                self.perform(client, "cause", "GET", f"/v1/clusters/{causes[0]['key']}", None, headers)
            self.perform(client, "all clusters", "GET", "/v1/clusters?limit=50", None, headers)
            content = self.perform(client, "reports", "GET", "/v1/reports?app=normal&limit=5", None, headers)
            reports = json.loads(content) if content else []
            if reports:
                self.perform(client, "report", "GET", f"/v1/reports/{reports[0]['id']}", None, headers)

    def look(self, _):
        client = Client(self.port)
        while not self.stop.wait(0.25):
            self.perform(client, "healthz", "GET", "/healthz")

    def run(self):
        threads = [threading.Thread(target=work, args=(index,))
                   for index, work in enumerate([self.upload] * len(NORMAL_KEYS) + [self.read, self.look])]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        self.stop.set()
        for thread in threads:
            thread.join()
        return {"requests": len(self.times_ms), "failed": sum(self.failures.values()),
                "p99_ms": round(percentile(self.times_ms or [FAILED_MS], 99), 1),
                "acknowledged": self.acknowledged, "failures": dict(self.failures.most_common(5)),
                "max_ms": {what: round(taken_ms) for what, taken_ms in self.slowest.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--may-be-full", action="store_true", help="503 with Retry-After is an answer to an upload")
    options = parser.parse_args()
    print(json.dumps(NormalLoad(options.port, options.may_be_full).run()))


if __name__ == "__main__":
    main()
