# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import select
import threading


def convert():
    ctypes.PyDLL(None).usleep(1_200_000)  # KEEPS convert


def handle():
    thread = threading.Thread(target=convert)
    thread.start()  # FREEZE handle


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
