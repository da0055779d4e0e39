#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs small clients that ask servers (client.cc) under `lagwatch run`: some have loops whose handlers freeze, others
idle in ways that look like it. The JSON object is as that of nested.
"""
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import suite
from harness.processes import compiled
from recipe import Recipe, count_all, parser

TARGETS = ["lagwatch-cli", "lagwatch_preload"]
THRESHOLD_MS = 200

HANGS = {"ask", "nap", "recv", "child"}
# Requests, from where, whose loop, its turns, what it does then.
CLIENTS = [
    # A loop of one descriptor, in its first, fifth and fiftieth dispatch.
    "0 helper one 1 nap", "0 helper one 1 recv", "0 helper one 1 child",
    "0 helper one 5 ask", "0 helper one 5 nap", "0 helper one 5 recv", "0 helper one 5 child",
    "0 helper one 50 ask", "0 helper one 50 nap", "0 helper one 50 child", "0 helper one 50 dialog",
    # Requests before the loop, around it and beside it.
    "4 helper one 5 ask", "4 deep one 20 ask", "12 places one 20 ask", "4 two inner-one 20 ask",
    "4 inline inner-one 20 nap", "4 coroutine one 20 ask", "4 helper many 5 ask", "12 deep many 20 ask",
    "4 inline inner-many 20 ask", "4 two many 20 dialog",
    # The loop idles, deeper than the requests were.
    "4 helper inner-one 5 idle", "4 inline inner-one 5 idle", "12 inline inner-one 20 idle", "4 two inner-one 5 idle",
    "4 inline inner-many 5 idle", "12 two inner-many 20 idle", "4 deep one 5 idle", "4 coroutine inner-one 5 idle",
    # No loop.
    "4 helper none 0 ask", "4 deep none 0 pause", "4 inline none 0 pause", "2 two none 0 ask",
]


def recipes(client):
    for row in CLIENTS:
        words = row.split()
        yield Recipe(row, [], lambda _, words=words: [client, *words], int(words[-1] in HANGS and "none" not in words))


def main():
    options = suite.parse(parser(__doc__))
    with suite.work_directory() as directory:
        client = compiled(pathlib.Path(__file__).with_name("client.cc"), directory / "client", "-std=c++20",
                          compiler=os.environ.get("CXX", "c++"))
        return suite.result(count_all(recipes(client), options, THRESHOLD_MS))


if __name__ == "__main__":
    sys.exit(main())
