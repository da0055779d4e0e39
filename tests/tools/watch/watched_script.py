# SPDX-License-Identifier: Apache-2.0
"""A loop of asyncio in which a callback computes for 1.2 s."""
import asyncio
import time


def import_orders():
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        pass


async def main():
    print("begun", flush=True)
    for _ in range(80):
        await asyncio.sleep(0.02)
    import_orders()
    await asyncio.sleep(0.5)


asyncio.run(main())
