# SPDX-License-Identifier: Apache-2.0
"""Servers that programs under test need, or are: a collector, a display, a name server that is silent, nginx, PostgreSQL."""
import os
import pathlib
import re
import signal
import socket
import subprocess

from harness.lagwatch import Lagwatch


class Collector:
    """A collector at a free port of the loopback device, which has started."""

    def __init__(self, binaries, data, *flags, environment=None, log=subprocess.DEVNULL):
        self.binaries, self.data = binaries, data
        self.process = subprocess.Popen([binaries / "lagwatch-collector", "--listen", "127.0.0.1:0", "--data", data, *flags],
                                        stdout=subprocess.PIPE, stderr=log, env=environment, text=True)
        lines = iter(self.process.stdout.readline, "")
        self.url = next((found[1] for line in lines if (found := re.search(r"listening on (http\S+)", line))), None)
        if self.url is None:
            raise RuntimeError("the collector did not start")
        self.port = int(self.url.rpartition(":")[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def client(self, **variables):
        """A Lagwatch whose programs send to this collector, with an environment that has the variables, too."""
        self.token = (self.data / "admin-token").read_text().strip()
        key = (self.data / "key").read_text().strip()
        return Lagwatch(self.binaries, environment=os.environ | variables | {
            "LAGWATCH_ENDPOINT": self.url, "LAGWATCH_KEY": key, "LAGWATCH_TOKEN": self.token})


class Display:
    """An X server of its own; a program finds it by `environment`."""

    def __init__(self):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-nolisten", "tcp", "-screen", "0", "800x600x24"],
                                        pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writer)
        with os.fdopen(reader) as name:
            self.environment = {"DISPLAY": ":" + name.readline().strip()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGCONT)  # a suite may have stopped it
        self.process.terminate()
        self.process.wait()


class SilentNameServer:
    """A name server that never answers, at a loopback address of its own."""

    ADDRESS = "127.0.0.99"

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.ADDRESS, 53))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    @classmethod
    def command(cls, directory):
        """The beginning of a command that asks this server for names."""
        file = directory / "resolv.conf"
        file.write_text(f"nameserver {cls.ADDRESS}\noptions timeout:1 attempts:1\n")
        return ["unshare", "-m", "sh", "-c", f'mount --bind {file} /etc/resolv.conf && exec "$@"', "sh"]


def nginx(directory, listen, answer, user="root"):
    """The command of a server with one answer, and its configuration in the directory."""
    path = pathlib.Path(directory) / "nginx.conf"
    path.write_text(f"daemon off; worker_processes 1; user {user}; error_log stderr crit; pid {directory}/nginx.pid;\nevents {{}}\n"
                    f"http {{ access_log off; server {{ listen {listen}; location / {{ return 200 {answer}; }} }} }}\n")
    return ["nginx", "-p", str(directory), "-c", str(path)]


def postgres(directory, port, prefix=""):
    """The command of a server on a new database cluster; it refuses to run as root, and the prefix may change the user."""
    folder = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    data = f"-D {directory}/data"
    return ["sh", "-c", f"{prefix} {folder}/initdb -A trust -U u {data} >/dev/null && exec {prefix} {folder}/postgres {data} -k '' -p {port}"
            " -c logging_collector=off -c log_min_messages=fatal"]


def psql(port):
    """The command of a client of such a server."""
    return ["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "u", "-qAt", "postgres"]
