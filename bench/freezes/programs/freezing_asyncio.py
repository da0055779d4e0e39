# SPDX-License-Identifier: Apache-2.0
"""freezing_asyncio.py FLAG: see freezing.c."""
import asyncio
import os
import subprocess
import sys
import time

flag = sys.argv[1]


def freeze_sleep():
    time.sleep(1.5)


def freeze_compute():
    end = time.time() + 1.5
    while time.time() < end:
        pass


def freeze_child():
    subprocess.run(["sleep", "1.5"])


async def run():
    while True:
        await asyncio.sleep(0.05)
        if os.path.exists(flag):
            globals()["freeze_" + open(flag).read().strip()]()
            os.unlink(flag)


asyncio.run(run())
