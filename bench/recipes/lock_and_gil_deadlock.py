# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import select
import threading
import time

keeps_gil, gives_gil = ctypes.PyDLL(None), ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)


def index():
    gives_gil.pthread_mutex_lock(mutex)
    time.sleep(0.5)
    keeps_gil.pthread_mutex_unlock(mutex)


def handle():
    threading.Thread(target=index, daemon=True).start()
    time.sleep(0.2)
    keeps_gil.pthread_mutex_lock(mutex)  # FREEZE handle


poll = select.poll()
poll.register(0, select.POLLIN)
while poll.poll() and (text := os.read(0, 100)):
    if b"freeze" in text:
        handle()
