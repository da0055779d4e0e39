# SPDX-License-Identifier: Apache-2.0
"""A fresh collector, and requests to it."""
import concurrent.futures
import functools
import glob
import gzip
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import threading
import time

from harness import servers
from harness.suite import ROOT

HOSTILE_KEY, ADMIN = "k_hostile", "a_bench"
NORMAL_KEYS = [f"k_normal{i}" for i in range(20)]


def resident_kib(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found[1]) if found else 0


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            found += map(int, pathlib.Path(path).read_text().split())
        except OSError:
            pass
    return found


class Proxy:
    """nginx with packaging/nginx/lagwatch.conf in front of a collector. Requests of the collector's own paths are served as
    those below the file's path."""

    def __init__(self, directory, collector_port):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        directory.mkdir()
        folders = "".join(f"    {kind}_temp_path {directory}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (directory / "nginx.conf").write_text(f"""daemon off; user root; worker_processes 2; worker_rlimit_nofile 20000;
pid {directory}/pid; error_log {directory}/errors;
events {{ worker_connections 8192; }}
http {{
    access_log off;
{folders}
    upstream lagwatch {{ server 127.0.0.1:{collector_port}; keepalive 16; }}
    server {{
        listen 127.0.0.1:{self.port} backlog=4096;
        include {ROOT}/packaging/nginx/lagwatch.conf;
        location / {{ rewrite ^/(.*)$ /lagwatch/$1 last; }}
    }}
}}
""")
        self.process = subprocess.Popen(["nginx", "-p", directory, "-e", directory / "errors", "-c", directory / "nginx.conf"])
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"nginx did not start: {(directory / 'errors').read_text()[-2000:]}")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Collector(servers.Collector):
    def __init__(self, binaries, directory, log, flags=(), environment=None, is_proxied=False):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LAGWATCH_")}
        self.log = log
        self.proxy = None
        if is_proxied:
            flags = (*flags, "--trusted-proxy", "127.0.0.1")
        with open(log, "wb") as file:
            try:
                super().__init__(binaries, directory / "data", "--key", HOSTILE_KEY,
                                 *(word for key in NORMAL_KEYS for word in ("--key", key)), "--admin-token", ADMIN, *flags,
                                 environment=clean | (environment or {}), log=file)
            except RuntimeError as error:
                raise RuntimeError(f"{error}: {log.read_text()[-2000:]}") from error
        if is_proxied:
            self.proxy = Proxy(log.parent / "nginx", self.port)
            self.port = self.proxy.port
        self.rss_mib_max = 0.0
        self._is_over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    # Its own memory and that of the processes that it starts.
    def _sample(self):
        while not self._is_over.wait(0.1):
            pid = self.process.pid
            now = sum(map(resident_kib, [pid, *children(pid)])) / 1024
            self.rss_mib_max = max(self.rss_mib_max, now)

    def is_alive(self):
        return self.process.poll() is None

    def connect(self, source=1, timeout=20):
        """A socket from the address 127.0.`source`, which counts as a peer of its own."""
        connection = socket.socket()
        connection.settimeout(timeout)
        connection.bind((address_of(source), 0))
        connection.connect(("127.0.0.1", self.port))
        return connection

    def ask(self, method, path, body=None, *, key=ADMIN, headers=None, source=1, timeout=60):
        """The status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout,
                                                source_address=(address_of(source), 0))
        try:
            connection.request(method, path, body, {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path, **options):
        status, _, body = self.ask("GET", path, **options)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {body[:300]!r}")
        return json.loads(body)

    def post(self, batch, *, key=HOSTILE_KEY, source=1, compress=True, timeout=60):
        """Sends a batch; its status and the answer."""
        headers = {"Content-Type": "application/x-protobuf"}
        if compress:
            headers["Content-Encoding"] = "gzip"
        status, _, body = self.ask("POST", "/v1/reports", gzip.compress(batch, 1) if compress else batch, key=key,
                                   headers=headers, source=source, timeout=timeout)
        return status, json.loads(body)

    def metric(self, name):
        text = self.ask("GET", "/metrics")[2].decode()
        found = re.search(re.escape(name) + r" ([0-9.e+]+)", text)
        return float(found[1]) if found else 0.0

    def stop(self):
        self._is_over.set()
        self._sampler.join()
        if self.proxy:
            self.proxy.stop()
        super().stop()


def question(path):
    """The text of a request that an administrator makes."""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\r\n".encode()


def report_path(id):
    text = id.hex()
    return f"/v1/reports/{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def normal_address(index):
    """Of a well-behaved client, in a network of its own."""
    return f"127.1.{index}.1"


def address_of(source):
    return source if isinstance(source, str) else f"127.0.{source >> 8}.{source & 255}"


def repeat(seconds, step, pause=0.0):
    """Calls step(number) again and again; an error of the connection is part of an attack."""
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        try:
            step(number)
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)
        number += 1
        if pause:
            time.sleep(pause)
    return number


def hammer(threads, seconds, step, pause=0.0):
    """Calls step(thread, number) again and again in as many threads."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(repeat, seconds, functools.partial(step, thread), pause) for thread in range(threads)]:
            done.result()
