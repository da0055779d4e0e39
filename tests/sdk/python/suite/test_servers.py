# SPDX-License-Identifier: Apache-2.0
"""Real servers under load, with one request that hangs: the report names the function, and the task or the route."""
from __future__ import annotations

import http.client
import importlib.util
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from programs import Program

APPLICATION = """
import ctypes, lagwatch, lagwatch.wsgi
lagwatch.start(app="shop", threshold_ms=300)
def price_of(item):
    ctypes.CDLL(None).usleep(700000)  # not one of those that gevent replaces
    return b"7"
def app(environ, start_response):
    path = environ["PATH_INFO"]
    start_response("200 OK", [("Content-Type", "text/plain")])
    if path == "/stream":
        return (price_of(1) for _ in range(1))
    return [price_of(1) if path.startswith("/slow/") else b"fast"]
app = lagwatch.wsgi.Watched(app)
"""
ASYNC_SERVER = """
async def price_of():
    time.sleep(0.7)
async def serve(reader, writer):
    request = (await reader.readline()).split()[1].decode()
    while await reader.readline() != b"\\r\\n": pass
    if request.startswith("/slow"):
        await asyncio.create_task(price_of(), name="prices")
    writer.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nfast")
    await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def get(port: int, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path)
    body = connection.getresponse().read()
    connection.close()
    return body


class Server:
    """A server's process, until the end of the block: it is asked to end, and must leave no process."""

    def __init__(self, program: Program, command: list[str], port: int) -> None:
        self._log = open(program.home / "log", "w+", encoding="utf-8")
        self._process = subprocess.Popen(command, cwd=program.home, env=program.environment, stdout=self._log, stderr=self._log,
                                         start_new_session=True)
        self._port = port

    def __enter__(self) -> Server:
        for _ in range(400):
            assert self._process.poll() is None, self._text()
            try:
                get(self._port, "/")
                return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError(self._text())

    def _text(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(20)
        finally:
            subprocess.run(["pkill", "-KILL", "--session", str(self._process.pid)], check=False)
        self._log.close()

    def load_and(self, paths: list[str]) -> None:
        """Requests the paths, one after the other, while other clients send what is quick."""
        is_over = threading.Event()
        answered = []

        def send() -> None:
            while not is_over.is_set():
                answered.append(get(self._port, "/"))

        clients = [threading.Thread(target=send) for _ in range(3)]
        for client in clients:
            client.start()
        time.sleep(0.2)
        for path in paths:
            get(self._port, path)
        time.sleep(0.2)
        is_over.set()
        for client in clients:
            client.join()
        assert len(answered) > 5 and set(answered) == {b"fast"}, answered[:3]


class Servers(unittest.TestCase):
    def test_asyncio(self) -> None:
        with Program() as program:
            port = free_port()
            program.write("server.py", ASYNC_SERVER.join(["import asyncio, sys, time\n", ""]))
            with Server(program, [sys.executable, "-m", "lagwatch", "run", "--threshold-ms", "300", "server.py", str(port)], port) as server:
                server.load_and(["/slow"])
            self.assertEqual(program.hangs(), [("prices: price_of", "price_of (server.py)")])
            facts = program.report(program.reports()[0]["id"])["facts"]
            self.assertIn("prices price_of() (server.py)", str(facts))

    @unittest.skipUnless(importlib.util.find_spec("gunicorn"), "gunicorn is not here")
    def test_gunicorn(self) -> None:
        workers = [("sync", []), ("sync", ["--preload"]), ("gthread", ["--threads", "3"])]
        if importlib.util.find_spec("gevent"):
            workers.append(("gevent", []))
        for worker, arguments in workers:
            with self.subTest(worker=worker, arguments=arguments), Program() as program:
                port = free_port()
                program.write("shop.py", APPLICATION)
                with Server(program, [sys.executable, "-m", "gunicorn", "--workers", "2", "--worker-class", worker, *arguments, "--bind",
                                      f"127.0.0.1:{port}", "shop:app"], port) as server:
                    server.load_and(["/slow/17?user=alice", "/stream"])
                self.assertEqual(program.hangs(), [("GET /slow/N", "price_of (shop.py)"), ("GET /stream", "price_of (shop.py)")])


if __name__ == "__main__":
    unittest.main()
