#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the Dockerfiles on a small Debian, and runs the images as the manifest for Kubernetes has them: their user, a read-only
root, and the capabilities that it lists. Needs the network, as a build of an image does.

Usage: images_test.py BUILD_DIRECTORY
"""
import contextlib
import glob
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from machine import HERE, can_run, wait_until
from package_files import REPOSITORY, SKIPPED, make_root

INSIDE = "--inside"  # an argument: this process has mounts of its own
LOOPBACK_UP = "import fcntl, socket; fcntl.ioctl(socket.socket(), 0x8914, b'lo'.ljust(16, b'\\0') + b'\\x49\\0' + bytes(22))"


class Image:
    """The system that a Dockerfile describes, mounted below `folder`."""

    def __init__(self, dockerfile: pathlib.Path, build: pathlib.Path, folder: pathlib.Path):
        self.user, self.volumes, self.entrypoint, self.command = "root", [], [], []
        self.root = folder / "root"
        for name in ("root", "upper", "work"):
            (folder / name).mkdir()
        mount("-t", "tmpfs", "image", folder / "work")
        (folder / "work/upper").mkdir()
        (folder / "work/work").mkdir()
        mount("-t", "overlay", "image", "-o",
              f"lowerdir={build / 'packages/slim'},upperdir={folder / 'work/upper'},workdir={folder / 'work/work'}", self.root)
        mount("-t", "proc", "image", self.root / "proc")
        for device in ("null", "zero", "urandom", "random"):
            (self.root / "dev" / device).touch()
            mount("--bind", f"/dev/{device}", self.root / "dev" / device)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        text = dockerfile.read_text().replace("\\\n", " ")
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word and word != "#":
                getattr(self, "_" + word.lower())(rest.strip(), build / "debs")

    def _from(self, image, _):
        assert image == "debian:bookworm-slim", image

    def _copy(self, words, context):
        pattern, target = words.split()
        files = glob.glob(str(context / pattern))
        assert len(files) == 1 and target == "/tmp/", (pattern, files)
        shutil.copy(files[0], self.root / "tmp")

    def _run(self, script, _):
        done = subprocess.run(["chroot", self.root, "sh", "-ec", script], capture_output=True, text=True,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})
        if "Temporary failure resolving" in done.stdout + done.stderr:
            print("there is no network")
            sys.exit(SKIPPED)
        assert done.returncode == 0, done.stdout + done.stderr

    def _user(self, user, _):
        self.user = user

    def _volume(self, path, _):
        self.volumes.append(path)
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _expose(self, port, _):
        self.port = int(port)

    def _entrypoint(self, words, _):
        self.entrypoint = json.loads(words)

    def _cmd(self, words, _):
        self.command = json.loads(words)

    def start(self, capabilities: list[str], more=()) -> subprocess.Popen:
        """The image's program, in a network of its own."""
        for path in ("/tmp", *self.volumes):
            mount("-t", "tmpfs", "-o", "mode=" + ("1777" if path == "/tmp" else "755"), "volume", str(self.root) + path)
            if path != "/tmp":
                subprocess.run(["chroot", self.root, "chown", self.user, path], check=True)
        mount("-o", "remount,ro", self.root)
        bounds = ",".join(["-all", *(f"+{name.lower()}" for name in capabilities)])
        rest = [f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"] if self.user != "root" else []
        command = ["chroot", str(self.root), "setpriv", "--no-new-privs", f"--bounding-set={bounds}", f"--inh-caps={bounds}", *rest,
                   *self.entrypoint, *self.command, *more]
        return subprocess.Popen(["unshare", "-n", "sh", "-c", f"{sys.executable} -c {shlex.quote(LOOPBACK_UP)} && exec {shlex.join(command)}"],
                                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def run(self, *command) -> str:
        return subprocess.run(["chroot", self.root, *command], capture_output=True, text=True).stdout


def mount(*arguments) -> None:
    subprocess.run(["mount", *arguments], check=True)


@contextlib.contextmanager
def running(process: subprocess.Popen):
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0, "it did not end as it was told to"


def check_collector(image: Image) -> None:
    with running(image.start([])) as process:
        def ask(path):
            return subprocess.run(["nsenter", "-t", str(process.pid), "-n", "curl", "-s", f"http://127.0.0.1:{image.port}{path}"],
                                  capture_output=True, text=True).stdout
        wait_until(lambda: ask("/readyz"))
        assert "lagwatch" in ask("/"), "the page"
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        assert "CapEff:\t0000000000000000" in status and "Uid:\t0\t" not in status, status


def check_daemon(image: Image, folder: pathlib.Path) -> None:
    program = folder / f"frozen-{os.getpid()}"
    shutil.copy(HERE / "freezing.pl", program)
    program.chmod(0o755)
    (image.root / "etc/lagwatch").mkdir(exist_ok=True)
    (image.root / "etc/lagwatch/watch.toml").write_text(f"threshold_ms = 300\n[[rule]]\nprogram = '{program.name}'\n")
    capabilities = (REPOSITORY / "packaging/docker/lagwatchd.Dockerfile").read_text().split("--cap-add=")[1:]
    frozen = subprocess.Popen(["setpriv", "--reuid=65534", "--clear-groups", program, "simple"])
    try:
        with running(image.start([words.split()[0] for words in capabilities])):
            wait_until(lambda: program.name in image.run("lagwatch", "reports", "--spool", "/var/lib/lagwatchd"))
    finally:
        frozen.kill()
        frozen.wait()


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    if not can_run():
        print("this user may not make namespaces")
        return SKIPPED
    if INSIDE not in sys.argv:
        return subprocess.run(["unshare", "-m", sys.executable, __file__, build, INSIDE]).returncode
    make_root(build, "slim", [])
    with tempfile.TemporaryDirectory() as directory:
        folders = [pathlib.Path(directory) / name for name in ("collector", "lagwatchd")]
        try:
            for folder in folders:
                folder.mkdir()
            os.chmod(directory, 0o755)
            check_collector(Image(REPOSITORY / "packaging/docker/collector.Dockerfile", build, folders[0]))
            check_daemon(Image(REPOSITORY / "packaging/docker/lagwatchd.Dockerfile", build, folders[1]), pathlib.Path(directory))
        finally:
            for folder in folders:
                subprocess.run(["umount", "-Rl", folder / "root"], stderr=subprocess.DEVNULL)
                subprocess.run(["umount", "-Rl", folder / "work"], stderr=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
