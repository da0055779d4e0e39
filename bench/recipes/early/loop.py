# SPDX-License-Identifier: Apache-2.0
"""A loop that freezes once, as loop.c does: loop.py POLL DISPATCH KIND. An event is a byte of standard input."""
import asyncio
import fcntl
import os
import queue
import select
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time

FREEZE_S = 0.9
poll, dispatch, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
others = [os.eventfd(0) for _ in range(3)]
here, there = socket.socketpair()
lock, event, items, condition = threading.Lock(), threading.Event(), queue.Queue(), threading.Condition()
held = tempfile.NamedTemporaryFile()
fifo = held.name + ".f"
os.mkfifo(fifo)


def keep(is_ready):
    """Holds the locks, and ends every wait."""
    with lock, open(held.name, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        is_ready.set()
        time.sleep(FREEZE_S)
    event.set()
    items.put(1)
    with condition:
        condition.notify()
    there.send(b"x")
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        pass


def spin():
    end = time.monotonic() + FREEZE_S
    while time.monotonic() < end:
        pass


def wait_for_condition():
    with condition:
        condition.wait()


def lock_file():
    with open(held.name, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def receive_with_timeout():
    here.settimeout(20)
    here.recv(1)


KINDS = {
    "cpu": lambda helper: spin(),
    "sleep": lambda helper: time.sleep(FREEZE_S),
    "sleep-by-select": lambda helper: select.select([], [], [], FREEZE_S),
    "lock": lambda helper: lock.acquire(),
    "lock-with-timeout": lambda helper: lock.acquire(timeout=20),
    "event": lambda helper: event.wait(),
    "queue": lambda helper: items.get(),
    "queue-with-timeout": lambda helper: items.get(timeout=20),
    "condition": lambda helper: wait_for_condition(),
    "join": lambda helper: helper.join(),
    "child": lambda helper: subprocess.run(["sleep", str(FREEZE_S)]),
    "output": lambda helper: subprocess.check_output(f"sleep {FREEZE_S}; echo late", shell=True),
    "communicate": lambda helper: subprocess.run(["sleep", str(FREEZE_S)], capture_output=True),
    "flock": lambda helper: lock_file(),
    "recv": lambda helper: here.recv(1),
    "recv-with-timeout": lambda helper: receive_with_timeout(),
    "answer-by-select": lambda helper: select.select([here], [], [], 20),
    "fifo": lambda helper: open(fifo).close(),
}


def freeze_here():
    is_ready = threading.Event()
    helper = threading.Thread(target=keep, args=(is_ready,), daemon=True)
    if kind in ("cpu", "child", "output", "communicate", "sleep", "sleep-by-select"):
        KINDS[kind](helper)
        return
    helper.start()
    is_ready.wait()
    KINDS[kind](helper)


turns = 0


def handle():
    """The turn of one event; whether it was the last one."""
    global turns
    turns += 1
    if not os.read(0, 1):
        return True
    if turns == dispatch:
        freeze_here()
    return turns == dispatch + 5


def run():
    sources = [0, *others] if "many" in poll else [0]
    if poll.startswith("select"):
        while select.select(sources, [], []) and not handle():
            pass
    elif poll.startswith("poll"):
        poller = select.poll()
        for source in sources:
            poller.register(source, select.POLLIN)
        while poller.poll() and not handle():
            pass
    elif poll.startswith("epoll"):
        selector = selectors.DefaultSelector()
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        while selector.select() and not handle():
            pass
    else:
        loop = asyncio.new_event_loop()
        loop.add_reader(0, lambda: handle() and loop.stop())
        loop.run_forever()


run()
os.unlink(fifo)
print("good")
