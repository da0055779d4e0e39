# SPDX-License-Identifier: Apache-2.0
"""The stressors of stress-ng, each one for a second: nearly all system calls, in unusual ways."""
import shutil
import subprocess

import unit

PACKAGES = ["stress-ng"]
LEFT_OUT = {  # groups, by what they do to all others on the machine
    "take memory until processes are killed": "forkheavy oom-pipe resources swap vforkmany",
    "take the processors: real-time classes, interrupts, a thousand threads": "cyclic loadavg smi softlockup",
    "set clocks, switch processors and memory off, load modules, reboot": "clock cpu-online memhotplug module reboot rtc watchdog",
    "write to devices and files of the kernel": "dev efivar gpu kvm physpage rawdev sysfs uprobe",
    "mount file systems, change quotas": "bind-mount binderfs quota ramfs umount",
}
NAMES = {0: "passed", 3: "skipped", 4: "skipped"}  # 3: no resources, 4: not implemented here


def outcome(_directory, _output, code):
    return {} if code is None else {"stressor": NAMES.get(code, f"exit code {code}")}


class StressorSuite:
    name = "stress-ng"

    def units(self):
        program = shutil.which("stress-ng")
        if not program:
            return
        listed = subprocess.run([program, "--stressors"], capture_output=True, text=True, check=False).stdout
        left_out = " ".join(LEFT_OUT.values()).split()
        for name in listed.split():
            if name not in left_out:
                yield unit.Unit(name, [program, "--" + name, "1", "-t", "1", "--temp-path", "{directory}/work", "--oomable"], outcome,
                                timeout_s=60)


def suites():
    return (StressorSuite(),)
