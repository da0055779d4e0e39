# SPDX-License-Identifier: Apache-2.0
"""The stressors of stress-ng, each one for a second: nearly all system calls, in unusual ways."""
import shutil
import subprocess

import unit

PACKAGES = ["stress-ng"]
# They take the machine's memory or its processors from all others, set its clocks and devices, or write all its disks.
LEFT_OUT = set("""bigheap bind-mount binderfs brk clock cpu-online cyclic dev efivar flushcache forkheavy gpu hrtimers io-uring kvm
    memhotplug module oom-pipe pageswap physpage quota race-sched ramfs rawdev reboot resources rtc schedpolicy smi sockmany
    softlockup stack swap sysfs umount uprobe vforkmany watchdog""".split())
NAMES = {0: "passed", 3: "skipped", 4: "skipped"}  # 3: no resources, 4: not implemented here


def outcome(_directory, _output, code):
    return {} if code is None else {"stressor": NAMES.get(code, f"exit code {code}")}


class Suite:
    name = "stress-ng"

    def units(self):
        program = shutil.which("stress-ng")
        if not program:
            return
        listed = subprocess.run([program, "--stressors"], capture_output=True, text=True, check=False).stdout
        for name in listed.split():
            if name not in LEFT_OUT:
                yield unit.Unit(name, [program, "--" + name, "1", "-t", "1", "--temp-path", "{directory}/work", "--oomable"], outcome,
                                timeout_s=60)


def suites():
    return (Suite(),)
