# SPDX-License-Identifier: Apache-2.0
"""A web server on asyncio, one of whose handlers computes without ever giving way."""
import hashlib
import sys

from aiohttp import web


def hash_password(password):
    for _ in range(6): hashlib.pbkdf2_hmac("sha256", password, b"salt", 600_000)  # FREEZE hash_password


async def sign_in(request):
    hash_password(b"secret")
    return web.Response(text="welcome")


async def list_orders(request):
    return web.json_response([{"id": i} for i in range(100)])

application = web.Application()
application.add_routes([web.get("/", list_orders), web.get("/freeze", sign_in)])
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
