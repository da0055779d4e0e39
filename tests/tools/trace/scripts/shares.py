# SPDX-License-Identifier: Apache-2.0
# Two functions that share the processor 1 to 3, and a thread that rests. Prints heavy's share of the time.
import sys
import threading
import time


def light():
    total = 0
    for i in range(8000):
        total += i * i % 7
    return total


def heavy():
    total = 0
    for i in range(24000):
        total += i * i % 7
    return total


def rest(seconds):
    time.sleep(seconds)


def timed(function):
    begin = time.monotonic()
    function()
    return time.monotonic() - begin


seconds = float(sys.argv[1])
resting = threading.Thread(target=rest, args=(seconds,))
resting.start()
light_s = heavy_s = 0.0
while light_s + heavy_s < seconds:
    light_s += timed(light)
    heavy_s += timed(heavy)
resting.join()
print(heavy_s / (light_s + heavy_s))
