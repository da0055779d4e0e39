# SPDX-License-Identifier: Apache-2.0
"""Programs at work, for the questions of docs/howto/probes.md. Each is a context manager that yields the process to ask, or None if
its package is missing."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

PYTHON = """
import socket, time
while True:
    try: int("x")
    except ValueError: pass
    socket.getaddrinfo("localhost", 80)
    time.sleep(0.01)
"""
NODE = 'setInterval(() => require("fs").readFile("/etc/hostname", () => {}), 10)'
# A build server: the compiler, again and again, in one JVM.
JAVAC = """
import java.util.spi.ToolProvider;
class Build {
  public static void main(String[] files) {
    while (ToolProvider.findFirst("javac").get().run(System.out, System.err, files) == 0) {}
  }
}
"""
SHOP = """
import java.util.*;
class Shop {
  private final Map<String, List<Double>> prices = new HashMap<>();
  double total(String item) {
    return prices.getOrDefault(item, List.of()).stream().mapToDouble(price -> price * 1.19).sum();
  }
}
"""
GTK = """
import time, gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
window = Gtk.Window(title="Album")
window.show_all()
GLib.timeout_add(100, lambda: time.sleep(0.08) or True)
Gtk.main()
"""


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


@contextlib.contextmanager
def started(command: list[str], **options):
    """The command in a process group of its own, of which nothing is left."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def repeated(action):
    """The action again and again; it may fail while the program starts."""
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(0.01):
            with contextlib.suppress(OSError):
                action()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def wait_for(condition):
    for _ in range(3000):
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("it does not start")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def redis(_folder: pathlib.Path):
    port = free_port()

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for key in ("user:7", "user:7", "user:8"):
                connection.sendall(f"GET {key}\r\n".encode())
                connection.recv(100)

    with started(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]) as server:
        wait_for(lambda: listens(port))
        with repeated(ask):
            yield server.pid


@contextlib.contextmanager
def nginx(folder: pathlib.Path):
    port = free_port()
    (folder / "index.html").write_text("<p>It works.\n")
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors; events {{}}\n"
        f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")

    def ask() -> None:
        for path in ("index.html", "missing"):
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}").read()

    with started(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]) as server:
        wait_for(lambda: listens(port))
        with repeated(ask):
            yield server.pid


@contextlib.contextmanager
def python(_folder: pathlib.Path):
    with started(["/usr/bin/python3", "-c", PYTHON]) as process:
        yield process.pid


@contextlib.contextmanager
def node(_folder: pathlib.Path):
    with started(["node", "-e", NODE]) as process:
        yield process.pid


@contextlib.contextmanager
def postgres(folder: pathlib.Path):
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    data, port = str(folder / "data"), free_port()
    subprocess.run([*as_user, str(programs / "initdb"), "-D", data, "-A", "trust", "--no-sync"], check=True, capture_output=True, cwd=folder)
    with started([*as_user, str(programs / "postgres"), "-D", data, "-p", str(port), "-k", str(folder)], cwd=folder):
        wait_for(lambda: listens(port))
        with subprocess.Popen([*as_user, "psql", "-h", str(folder), "-p", str(port), "-Atq", "postgres"], text=True, bufsize=1, cwd=folder,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as session:
            session.stdin.write("CREATE TABLE visits (n int); SELECT pg_backend_pid();\n")
            backend = int(session.stdout.readline())

            def ask() -> None:
                session.stdin.write("INSERT INTO visits VALUES (1); SELECT pg_sleep(0.03);\n")
                session.stdout.readline()

            with repeated(ask):
                yield backend
            session.stdin.close()


@contextlib.contextmanager
def javac(folder: pathlib.Path):
    (folder / "Build.java").write_text(JAVAC)
    (folder / "Shop.java").write_text(SHOP)
    with started(["java", "-Xmx128m", "Build.java", "-d", str(folder), "Shop.java"], cwd=folder) as process:
        wait_for(lambda: (folder / "Shop.class").exists())
        yield process.pid


@contextlib.contextmanager
def jshell(folder: pathlib.Path):
    """In one JVM, which its launcher starts."""
    home = pathlib.Path("/usr/bin/jshell").resolve().parent
    with started([str(home / "jshell"), "--execution", "local", "-s", f"-J-Djava.util.prefs.userRoot={folder}"],
                 cwd=folder, text=True, bufsize=1, stdin=subprocess.PIPE) as process:
        process.stdin.write('java.nio.file.Files.writeString(java.nio.file.Path.of("ready"), "");\n')
        wait_for(lambda: (folder / "ready").exists())
        with repeated(lambda: process.stdin.write("int answer = 6 * 7;\n") and time.sleep(0.1)):
            yield process.pid
            process.kill()


@contextlib.contextmanager
def gtk(_folder: pathlib.Path):
    with started(["xvfb-run", "-a", "/usr/bin/python3", "-c", GTK]) as shell:
        # The program once it shows its window: by then GTK is loaded.
        def find():
            children = subprocess.run(["pgrep", "-s", str(shell.pid), "-f", "^/usr/bin/python3"], capture_output=True, text=True).stdout.split()
            return children and "libgtk-3" in pathlib.Path(f"/proc/{children[0]}/maps").read_text() and int(children[0])
        yield wait_for(find)


# By the words of the page's commands: the program, and a file that it needs.
PROGRAMS = {"redis-server": (redis, "/usr/bin/redis-server"), "nginx": (nginx, "/usr/sbin/nginx"), "python3": (python, "/usr/bin/python3"),
            "node": (node, "/usr/bin/node"), "postgres": (postgres, "/usr/lib/postgresql"),
            "javac": (javac, "/usr/bin/javac"), "jshell": (jshell, "/usr/bin/jshell"),
            "gtk": (gtk, "/usr/lib/python3/dist-packages/gi")}
