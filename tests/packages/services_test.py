#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs services of many kinds under lagwatch, by `lagwatch enable` on a running systemd, and looks at their reports.

Usage: services_test.py BUILD_DIRECTORY
"""
import pathlib
import sys

from lifecycle_test import install, pid_of
from machine import HERE, Machine, can_run, wait_until
from package_files import NAMES, SKIPPED, deb, make_root

PROGRAM = "/usr/local/bin/freezing.pl"
STRICT = "NoNewPrivileges=yes\nProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\nPrivateDevices=yes\nMemoryDenyWriteExecute=yes\n" \
         "CapabilityBoundingSet=\nRestrictNamespaces=yes\nRestrictAddressFamilies=AF_UNIX\nSystemCallArchitectures=native\n"
# The lines of each service, and the directory of its reports.
SERVICES = {
    "simple": (f"ExecStart={PROGRAM} simple\nUser=daemon\n", "/var/lib/lagwatch/simple"),
    "exec": (f"Type=exec\nExecStart=-{PROGRAM} 'simple'\nStateDirectory=one two\n", "/var/cache/lagwatch/exec"),
    "notify": (f"Type=notify\nWatchdogSec=60\nExecStart={PROGRAM} notify\nDynamicUser=yes\n{STRICT}", "/var/lib/private/lagwatch/notify"),
    "forking": (f"Type=forking\nPIDFile=/run/forking.pid\nExecStart={PROGRAM} forking /run/forking.pid\n", "/var/lib/lagwatch/forking"),
    "filtered": (f"ExecStart={PROGRAM} simple\nUser=daemon\n{STRICT}SystemCallFilter=@basic-io @file-system @io-event @process @signal ioctl pipe2\n",
                 "/var/lib/lagwatch/filtered"),
    "denying": (f"ExecStart={PROGRAM} simple\nSystemCallFilter=~@timer unshare rt_tgsigqueueinfo process_vm_readv\n", "/var/lib/lagwatch/denying"),
}


def has_report(machine: Machine, spool: str) -> bool:
    return "freeze" in machine.run(f"lagwatch clusters --spool {spool} 2>/dev/null || true")


def environment(machine: Machine, unit: str) -> str:
    return machine.path(f"/proc/{pid_of(machine, unit)}/environ").read_bytes().decode().replace("\0", "\n")


def check_enabled(machine: Machine, unit: str, spool: str) -> None:
    wait_until(lambda: has_report(machine, spool))
    assert machine.run(f"systemctl is-active {unit}").strip() == "active", unit
    assert machine.run(f"systemctl show -P NRestarts {unit}").strip() == "0", unit
    pid = pid_of(machine, unit)
    # The process is the service's own, and no other one is left beside it.
    assert machine.run(f"tr '\\0' ' ' </proc/{pid}/cmdline").startswith(f"/usr/bin/perl {PROGRAM}"), unit
    assert machine.run(f"cat /sys/fs/cgroup/system.slice/{unit}.service/cgroup.procs").split() == [str(pid)], unit
    assert machine.run(f"stat -c %a {spool}").strip() == "700", unit


def check_watchdog(machine: Machine) -> None:
    """A service that systemd ends for its late notification has a report of that, made before."""
    machine.write("/etc/systemd/system/late.service", f"[Service]\nType=notify\nWatchdogSec=4\nExecStart={PROGRAM} watchdog\n")
    machine.run("systemctl daemon-reload && lagwatch enable --yes --soft-watchdog late && systemctl start late")
    wait_until(lambda: machine.run("systemctl show -P Result late").strip() == "watchdog")
    report = machine.run("lagwatch reports --spool /var/lib/lagwatch/late --json")
    assert "late WATCHDOG=1" in report, report


def check(machine: Machine) -> None:
    for unit, (lines, _) in SERVICES.items():
        machine.write(f"/etc/systemd/system/{unit}.service", "[Service]\n" + lines)
    machine.run("systemctl daemon-reload && systemctl start " + " ".join(SERVICES))
    for unit in SERVICES:
        assert machine.run(f"systemctl is-active {unit}").strip() == "active", unit
    variables = {unit: {line.split("=")[0] for line in environment(machine, unit).splitlines()} for unit in SERVICES}
    for unit in SERVICES:
        machine.run(f"lagwatch enable --yes {unit} -- --threshold-ms 300")
    machine.run("systemctl restart " + " ".join(SERVICES))
    for unit, (_, spool) in SERVICES.items():
        check_enabled(machine, unit, spool)
        more = {line.split("=")[0] for line in environment(machine, unit).splitlines()} - variables[unit]
        assert not any(name.endswith("DIRECTORY") for name in more), (unit, more)
    assert machine.run("stat -c %U /var/lib/lagwatch/simple").strip() == "daemon"

    # Without lagwatch the services go on.
    machine.run("lagwatch disable --yes simple && systemctl restart simple")
    assert "lagwatch" not in environment(machine, "simple")
    machine.run("dpkg --purge lagwatch && systemctl restart " + " ".join(SERVICES))
    for unit in SERVICES:
        assert machine.run(f"systemctl is-active {unit}").strip() == "active", unit
        assert "lagwatch" not in environment(machine, unit), unit
    left = machine.run("find /etc/systemd /var/lib /var/cache /var/log -name zz-lagwatch.conf -o -name lagwatch -not -path '*/dpkg/*'")
    assert not left, left


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    if not can_run():
        print("this user may not make namespaces")
        return SKIPPED
    root = make_root(build)
    with Machine(root) as machine:
        machine.write(PROGRAM, (HERE / "freezing.pl").read_text())
        machine.run(f"chmod 755 {PROGRAM}")
        install(machine, [deb(build, name) for name in NAMES])
        check_watchdog(machine)
        check(machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
