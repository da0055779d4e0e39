# SPDX-License-Identifier: Apache-2.0
"""freezing.py FLAG: see freezing.c."""
import os
import select
import subprocess
import sys
import threading
import time

flag = sys.argv[1]
lock = threading.RLock()


def keep_it():
    time.sleep(1.5)


def keep_lock(is_kept):
    with lock:
        is_kept.set()
        keep_it()


def freeze_sleep():
    time.sleep(1.5)


def freeze_compute():
    end = time.time() + 1.5
    while time.time() < end:
        pass


def freeze_child():
    subprocess.run(["sleep", "1.5"])


def freeze_file():
    open(flag + ".fifo").read()


def freeze_lock():
    is_kept = threading.Event()
    threading.Thread(target=keep_lock, args=(is_kept,), name="keeper").start()
    is_kept.wait()
    with lock:
        pass


loop = select.poll()
loop.register(os.pipe()[0], select.POLLIN)
while True:
    loop.poll(50)
    if os.path.exists(flag):
        globals()["freeze_" + open(flag).read().strip()]()
        os.unlink(flag)
