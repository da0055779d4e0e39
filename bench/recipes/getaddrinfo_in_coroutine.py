# SPDX-License-Identifier: Apache-2.0
import asyncio
import socket
import sys


async def resolve(host):
    try:
        socket.getaddrinfo(host, 80)  # FREEZE resolve
    except OSError:
        pass


async def handle():
    await resolve("orders.example.net")


async def main():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if line == b"freeze\n":
            await handle()

asyncio.run(main())
