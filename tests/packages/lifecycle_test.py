#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the packages in a clean Debian with a running systemd, uses them, upgrades, removes and purges them.

Usage: lifecycle_test.py BUILD_DIRECTORY
"""
import pathlib
import sys
import tempfile

from machine import HERE, Machine, can_run, wait_until
from package_files import NAMES, REPOSITORY, SKIPPED, deb, make_root, older

PREVIOUS = "0.0.9-1"
# Files that dpkg and the system write besides, whatever is installed.
NOT_OURS = r"^/(proc|sys|dev|run|tmp|var/log|var/cache/ldconfig|var/lib/(dpkg|systemd)|etc/(passwd|group|shadow|gshadow)-?$|" \
           r"etc/ld.so.cache|etc/machine-id|var/cache/debconf)"
COLLECTOR = "http://127.0.0.1:8790"


def files(machine: Machine) -> set[str]:
    return set(machine.run(f"find / -xdev | grep -vE '{NOT_OURS}' || true").splitlines())


def install(machine: Machine, packages) -> None:
    for package in packages:
        machine.path(f"/root/{package.name}").write_bytes(package.read_bytes())
    machine.run("dpkg -i /root/*.deb && rm /root/*.deb")


def pid_of(machine: Machine, unit: str) -> int:
    return int(machine.run(f"systemctl show -P MainPID {unit}"))


def causes(machine: Machine, endpoint: str) -> str:
    return machine.run(f"lagwatch clusters --endpoint {endpoint} --token $(cat /var/lib/lagwatch-collector/admin-token) || true")


def check_readme(machine: Machine, package) -> None:
    """The first lines of README, as they stand there, with a process and a command."""
    section = (REPOSITORY / "README.md").read_text().split("\n## Install\n")[1].split("\n##")[0]
    lines = [line.split("#")[0].strip() for line in section.splitlines() if line.startswith("    ")]
    assert len(lines) == 3, lines
    machine.write("/etc/apt/apt.conf.d/yes", 'APT::Get::Assume-Yes "true";\n')
    machine.path(f"/root/{package.name}").write_bytes(package.read_bytes())
    words = {"sudo ": "", "PID": "$pid", "COMMAND": "/root/freezing.pl once"}
    script = "\n".join(lines)
    for word, meaning in words.items():
        assert word in script, f"{word}: {lines}"
        script = script.replace(word, meaning)
    install_it, ask, watch = script.splitlines()
    machine.run(f"cd /root && {install_it}")
    answer = machine.run(f"sleep 100 & pid=$!; sleep 1; {ask} || test $? = 1; kill $pid")
    assert "has slept by its own will" in answer, answer
    machine.run(f"LAGWATCH_THRESHOLD_MS=300 {watch}")
    reports = machine.run("lagwatch reports")
    assert "freezing" in reports, reports
    machine.run(f"dpkg --purge lagwatch && rm -r /root/{package.name} /etc/apt/apt.conf.d/yes /root/.local")


def check_installed(machine: Machine) -> None:
    assert machine.run("systemctl is-active lagwatch-collector").strip() == "active"
    assert machine.run("systemctl is-enabled lagwatch-collector lagwatchd").split() == ["enabled"] * 2
    # lagwatchd has no rules yet.
    assert "inactive" in machine.run("systemctl is-active lagwatchd || true")
    assert machine.run("stat -c '%U %a' /var/lib/lagwatch-collector").split() == ["lagwatch-collector", "700"]
    assert machine.run(f"stat -c %U /proc/{pid_of(machine, 'lagwatch-collector')}").strip() == "lagwatch-collector"
    machine.run("systemctl reload lagwatch-collector")
    for unit in ("lagwatch-collector", "lagwatchd"):
        assert not machine.run(f"systemd-analyze verify --man=no {unit}.service 2>&1").strip()
        machine.run(f"systemd-analyze security --offline=true --threshold=25 {unit}.service")


def check_run(machine: Machine) -> None:
    """A freeze under `lagwatch run`, in the spool; then one that reaches the collector."""
    machine.run("lagwatch run --threshold-ms 300 --spool /root/spool -- /root/freezing.pl once")
    assert "freeze" in machine.run("lagwatch clusters --spool /root/spool"), machine.run("lagwatch clusters --spool /root/spool")
    machine.run("rm -r /root/spool")
    machine.run(f"lagwatch run --threshold-ms 300 --spool /root/spool --endpoint {COLLECTOR} "
                "--key $(cat /var/lib/lagwatch-collector/key) -- /root/freezing.pl once")
    wait_until(lambda: "freeze" in causes(machine, COLLECTOR))
    machine.run("rm -r /root/spool")


def check_daemon(machine: Machine) -> None:
    """lagwatchd, within the limits of its unit, reports a program of another user."""
    machine.write("/etc/lagwatch/watch.toml", "threshold_ms = 300\n\n[[rule]]\nprogram = 'freezing.pl'\n")
    machine.run("systemctl start lagwatchd")
    machine.run("cp /root/freezing.pl /usr/local/bin/ && systemctl start frozen")
    wait_until(lambda: "freezing" in machine.run("lagwatch reports --spool /var/lib/lagwatchd 2>/dev/null || true"))
    machine.run("systemctl stop frozen && rm /usr/local/bin/freezing.pl")


def check_upgrade(machine: Machine, packages) -> None:
    keys = machine.run("cat /var/lib/lagwatch-collector/key /var/lib/lagwatch-collector/admin-token")
    before = pid_of(machine, "lagwatch-collector")
    machine.run("sed -i 's/8790/8791/' /etc/lagwatch/collector.toml")
    install(machine, packages)
    assert pid_of(machine, "lagwatch-collector") not in (0, before)
    assert machine.run("cat /var/lib/lagwatch-collector/key /var/lib/lagwatch-collector/admin-token") == keys
    assert "8791" in machine.run("cat /etc/lagwatch/collector.toml"), "the settings were replaced"
    # It has its data still, and its new settings.
    wait_until(lambda: "freeze" in causes(machine, COLLECTOR.replace("8790", "8791")))
    assert machine.run("systemctl is-active lagwatchd").strip() == "active"


def check_removal(machine: Machine, before: set[str]) -> None:
    machine.run("dpkg --remove " + " ".join(NAMES))
    for unit in ("lagwatch-collector", "lagwatchd"):
        assert pid_of(machine, unit) == 0
        assert not machine.run(f"systemctl list-unit-files --no-legend {unit}.service || true").strip()
    machine.run("test -e /var/lib/lagwatch-collector/collector.db && test -e /etc/lagwatch/collector.toml")
    machine.run("dpkg --purge " + " ".join(NAMES))
    left = sorted(files(machine) - before)
    assert not left, left
    assert "lagwatch" not in machine.run("cat /etc/passwd /etc/group")


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    if not can_run():
        print("this user may not make namespaces")
        return SKIPPED
    root = make_root(build)
    packages = [deb(build, name) for name in NAMES]
    with tempfile.TemporaryDirectory() as folder, Machine(root) as machine:
        machine.write("/root/freezing.pl", (HERE / "freezing.pl").read_text())
        machine.run("chmod 755 /root/freezing.pl")
        machine.write("/etc/systemd/system/frozen.service", "[Service]\nUser=daemon\nExecStart=/usr/local/bin/freezing.pl simple\n")
        check_readme(machine, packages[0])
        before = files(machine)
        install(machine, [older(package, PREVIOUS, pathlib.Path(folder)) for package in packages])
        check_installed(machine)
        check_run(machine)
        check_daemon(machine)
        check_upgrade(machine, packages)
        check_removal(machine, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
