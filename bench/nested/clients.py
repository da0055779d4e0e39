#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs small clients that ask servers (client.cc) under `lagwatch run`: some have loops whose handlers freeze, others
idle in ways that look like it. The last line is one JSON object, as nested.py's."""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

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


def reports_of(lagwatch, client, arguments, directory):
    spool = directory + "/spool"
    command = [lagwatch, "run", "--threshold-ms", "200", "--spool", spool, "--", client, *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    if ended.returncode != 0:
        print(f"  exit {ended.returncode}: {ended.stdout[-600:]!r}")
    listed = subprocess.run([lagwatch, "reports", "--spool", spool, "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    return json.loads(listed.stdout or b"[]")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True, help="where lagwatch was built")
    options.add_argument("--only", default="", help="clients whose arguments have this")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its programs end with it
    lagwatch = str(pathlib.Path(given.bin, "lagwatch").resolve())
    counts = {"hangs": 0, "found": 0, "nested_loops": 0, "false": 0}
    with tempfile.TemporaryDirectory() as directory:
        client = directory + "/client"
        source = pathlib.Path(__file__).with_name("client.cc")
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-g", "-pthread", source, "-o", client],
                       check=True)
        for number, row in enumerate(CLIENTS):
            if given.only not in row:
                continue
            hangs = int(row.split()[-1] in HANGS and "none" not in row)
            folder = f"{directory}/{number}"
            os.mkdir(folder)
            reports = reports_of(lagwatch, client, row.split(), folder)
            found = min(len(reports), hangs)
            counts["hangs"] += hangs
            counts["found"] += found
            counts["nested_loops"] += hangs == 0
            counts["false"] += len(reports) - found
            what = "right" if len(reports) == hangs else f"{len(reports)} reports instead of {hangs}"
            lengths = ", ".join(f"{report['duration_ms']} ms: {report.get('cause')}" for report in reports)
            print(f"{row:32}  {what}  {lengths}", flush=True)
    print(json.dumps(counts))


if __name__ == "__main__":
    sys.exit(main())
