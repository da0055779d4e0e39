# SPDX-License-Identifier: Apache-2.0
"""Freezes a loop of asyncio inside a task, and prints the facts about it that asyncio itself has: "task NAME FUNCTION() (FILE)",
and of the tasks that wait for it "awaiter NAME FUNCTION() (FILE:LINE)", the nearest one first."""
import asyncio
import os
import sys
import time

SECONDS = 0.7
AWAITED = []  # tasks, from the running one on


def describe(task, with_line):
    coroutine = task.get_coro()
    code = coroutine.cr_code
    name = getattr(code, "co_qualname", code.co_name)
    line = f":{coroutine.cr_frame.f_lineno}" if with_line else ""
    return f"{task.get_name()} {name}() ({os.path.basename(code.co_filename)}{line})"


def freeze():
    print("task", describe(AWAITED[0], False))
    for task in AWAITED[1:]:
        print("awaiter", describe(task, True))
    sys.stdout.flush()
    time.sleep(SECONDS)


class Orders:
    async def load(self):
        await asyncio.sleep(0)
        freeze()

    async def run(self):
        await self.load()


async def start(name, coroutine):
    """Runs a coroutine as a task with that name (None: asyncio's own), and waits for it."""
    task = asyncio.ensure_future(coroutine)
    if name is not None:
        task.set_name(name)
    AWAITED.insert(0, task)
    await task


async def main():
    AWAITED.insert(0, asyncio.current_task())
    others = [asyncio.ensure_future(asyncio.sleep(60)) for _ in range(3)]
    for _ in range(8):
        await asyncio.sleep(0.02)
    kind = sys.argv[1]
    if kind == "named":
        await start("import größe", Orders().run())
    elif kind == "awaited":
        await start(None, start("middle", Orders().run()))
    elif kind == "callback":
        asyncio.get_running_loop().call_soon(time.sleep, SECONDS)
        await asyncio.sleep(SECONDS + 0.1)
    for other in others:
        other.cancel()


asyncio.run(main())
