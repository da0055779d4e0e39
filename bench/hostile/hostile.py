#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks real collectors, each of them a fresh one with a normal load beside the attack, by clients that stay within each
single limit. Needs root for one of the attacks, which has a disk of its own.

A collector holds when it lives, answers the attack as it should, answers normal requests within 250 ms (p99, a failed one
counts as a minute), has all normal reports that it acknowledged, and takes at most 512 MiB. Prints `attacks`, `held`,
`normal_p99_ms_max` and `rss_mib_max`; with --proxy, of a collector behind nginx, `proxied_attacks` and so on.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import ingest_attacks
import name_attacks
import query_attacks
import store_attacks
import stranger_attacks
import wire_attacks
from harness import suite
from target import Collector

TARGETS = ["lagwatch-collector", "bench_wall_clock"]
MAX_P99_MS = 250
MAX_RSS_MIB = 512
WARM_UP_S = 1.0


class Attacker:
    def __init__(self, bin_directory, is_proxied):
        self.binaries = bin_directory
        self.is_proxied = is_proxied

    def run(self, attack):
        """The result: complaints, and the figures."""
        with suite.work_directory() as directory, contextlib.ExitStack() as beside:
            (disk := directory / "disk").mkdir()
            if attack.own_disk_mib:
                mount(disk, attack.own_disk_mib)
                beside.callback(subprocess.run, ["umount", "-l", disk], check=False)
            flags, to_close = attack.prepare() if attack.prepare else ((), None)
            if to_close:
                beside.callback(to_close.close)
            clock = directory / "clock"
            clock.write_bytes(struct.pack("<q", 0))
            environment = {"LD_PRELOAD": str(self.binaries / "bench_wall_clock.so"), "LAGWATCH_BENCH_CLOCK": str(clock)}
            collector = beside.enter_context(Collector(self.binaries, disk, directory / "log", (*attack.flags, *flags),
                                                       environment if attack.moves_clock else {}, self.is_proxied))
            collector.move_clock = lambda offset_s: move_clock(clock, offset_s)
            return self.attack(attack, collector)

    def attack(self, attack, collector):
        load = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).parent / "normal_load.py"), "--port",
                                 str(collector.port), *(["--may-be-full"] if attack.may_be_full else [])],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(WARM_UP_S)
        try:
            complaints = list(dict.fromkeys(attack.run(collector, attack.seconds)))
        except Exception as error:  # pylint: disable=broad-except
            complaints = [f"the attack ended with {type(error).__name__}: {error}"]
        normal = json.loads(load.communicate()[0])
        complaints += self.judge(collector, normal)
        return complaints, normal, collector.rss_mib_max

    def judge(self, collector, normal):
        if not collector.is_alive():
            yield f"the collector ended with {collector.process.returncode}"
            return
        if normal["p99_ms"] > MAX_P99_MS:
            yield f"normal requests: p99 {normal['p99_ms']} ms, {normal['failed']} failed of {normal['requests']}"
        if collector.rss_mib_max > MAX_RSS_MIB:
            yield f"{collector.rss_mib_max:.0f} MiB of memory"
        try:
            stored = sum(cause["reports"] for cause in collector.get("/v1/clusters?app=normal&limit=1000"))
        except Exception as error:  # pylint: disable=broad-except
            yield f"the normal reports cannot be counted: {error}"
            return
        if stored < normal["acknowledged"]:
            yield f"{stored} of {normal['acknowledged']} acknowledged reports are there"


def move_clock(path, offset_s):
    """Writes over the number: the collector has the file mapped, and one of no bytes would end it."""
    with open(path, "r+b") as file:
        file.write(struct.pack("<q", offset_s))


def mount(directory, size_mib):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hostile", bytes(directory), b"tmpfs", 0, f"size={size_mib}m".encode()) != 0:
        raise OSError(ctypes.get_errno(), "cannot mount a tmpfs")


def all_attacks():
    return [*ingest_attacks.attacks(), *query_attacks.attacks(), *store_attacks.attacks(), *wire_attacks.attacks(), *stranger_attacks.attacks(), *name_attacks.attacks()]


def main():
    parser = suite.parser(__doc__, only="a regular expression: attacks with such names", programs="lagwatch-collector")
    parser.add_argument("--list", action="store_true", help="print the attacks' names alone")
    parser.add_argument("--proxy", action="store_true", help="attack through nginx with packaging/nginx/lagwatch.conf")
    options = suite.parse(parser)
    bench = Attacker(options.bin, options.proxy)
    attacks = [attack for attack in all_attacks() if re.search(options.only, attack.name)]
    if options.list:
        print("\n".join(attack.name for attack in attacks))
        return 0
    if os.geteuid() != 0:
        skipped = [attack.name for attack in attacks if attack.own_disk_mib]
        attacks = [attack for attack in attacks if not attack.own_disk_mib]
        suite.progress(f"left out, because they mount a file system: {skipped}")
    held, p99_ms, rss_mib = 0, 0.0, 0.0
    for attack in attacks:
        complaints, normal, own_rss_mib = bench.run(attack)
        held += not complaints
        p99_ms = max(p99_ms, normal["p99_ms"])
        rss_mib = max(rss_mib, own_rss_mib)
        slowest = max(normal["max_ms"].items(), key=lambda item: item[1], default=("", 0))
        print(f"{attack.name:20} {'held' if not complaints else 'DID NOT HOLD':12} normal p99 {normal['p99_ms']:8.1f} ms, "
              f"slowest {slowest[1]} ms ({slowest[0]}), {normal['failed']} of {normal['requests']} failed, "
              f"{own_rss_mib:.0f} MiB", flush=True)
        for complaint in complaints[:6]:
            print(f"    {complaint}", flush=True)
        if complaints and normal["failures"]:
            print(f"    {normal['failures']}", flush=True)
    figures = {"attacks": len(attacks), "held": held, "normal_p99_ms_max": round(p99_ms, 1), "rss_mib_max": round(rss_mib, 1)}
    prefix = "proxied_" if options.proxy else ""
    return suite.result({prefix + name: figure for name, figure in figures.items()}, held == len(attacks) and attacks)


if __name__ == "__main__":
    sys.exit(main())
