# SPDX-License-Identifier: Apache-2.0
"""Real programs as hosts: servers that drop their privileges, interpreters, wrapper scripts, editors.

`scripts/bench hosts` installs PACKAGES; a program that is missing is left out.
"""
import pathlib
import shutil
import socket
import time

PACKAGES = ["chromium", "mosquitto", "memcached", "nginx-light", "postgresql", "vim", "vlc-bin", "vlc-plugin-base"]

HANG_MS = 700

NODE_SCRIPT = f"""
function hang() {{ const end = Date.now() + {HANG_MS}; while (Date.now() < end); }}
setTimeout(hang, 100); setTimeout(() => console.log('done'), 150);
"""

PYTHON_SCRIPT = f"""
import asyncio, time
async def main():
    await asyncio.sleep(0.1)
    end = time.monotonic() + {HANG_MS / 1000}
    while time.monotonic() < end: pass
    await asyncio.sleep(0.1)
    print('done')
asyncio.run(main())
"""

JAVA_PROGRAM = f"""
import java.nio.channels.Selector;
public class Host {{
  static void hang() {{ long end = System.nanoTime() + {HANG_MS}_000_000L; while (System.nanoTime() < end) {{}} }}
  public static void main(String[] arguments) throws Exception {{
    Thread loop = new Thread(() -> {{
      try {{
        Selector selector = Selector.open();
        for (int i = 0; i < 150; ++i) selector.select(10);
        hang();
        for (int i = 0; i < 10; ++i) selector.select(10);
      }} catch (Exception e) {{ System.out.println(e); }}
    }});
    loop.start();
    loop.join();
    System.out.println("done");
  }}
}}
"""


def talk(port, request):
    """Sends `request` to a server as soon as it listens, and returns the start of its answer."""
    for _ in range(200):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(request)
                return connection.recv(65536)
        except ConnectionRefusedError:
            time.sleep(0.05)
    return b"no answer"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Program:
    """One program: its command, and for a server what a client asks it before SIGTERM ends it."""

    def __init__(self, name, program, command, drive=None, reports=0, traits=()):
        self.name = name
        self.program = program  # that must be installed
        self.command = command  # of a directory and a port
        self.drive = drive  # of a directory and a port: returns the output to compare
        self.reports = reports  # at least so many
        self.traits = set(traits)


def mosquitto(directory, port):
    config = pathlib.Path(directory) / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nuser nobody\n")
    return ["mosquitto", "-c", str(config)]


def nginx(directory, port):
    config = pathlib.Path(directory) / "nginx.conf"
    config.write_text(f"daemon off; user nobody nogroup; pid {directory}/pid; error_log stderr crit;\n"
                      "events {}\nhttp { access_log off; server { "
                      f"listen 127.0.0.1:{port}; location / {{ return 200 hello; }} }} }}\n")
    return ["nginx", "-c", str(config), "-p", directory]


def java(directory, _):
    source = pathlib.Path(directory) / "Host.java"
    source.write_text(JAVA_PROGRAM)
    return ["java", "-XX:TieredStopAtLevel=1", str(source)]


def postgres_command(directory, port):
    """A server on a new database cluster; it refuses to run as root."""
    folder = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    data = pathlib.Path(directory) / "data"
    script = (f"chown nobody {directory}; setpriv --reuid=nobody --clear-groups {folder}/initdb -A trust -U u -D {data}"
              f" >/dev/null && exec setpriv --reuid=nobody --clear-groups {folder}/postgres -D {data} -k '' -p {port}"
              " -c logging_collector=off -c log_min_messages=fatal")
    return ["sh", "-c", script]


def ask_postgres(_, port):
    import subprocess
    query = "select count(*) from generate_series(1, 8000000) i where i % 7 = 0"
    for _ in range(100):
        asked = subprocess.run(["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "u", "-Atc", query, "postgres"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if asked.returncode == 0:
            return asked.stdout.decode()
        time.sleep(0.1)
    return "no answer"


PROGRAMS = [
    Program("mosquitto", "mosquitto", mosquitto,
            lambda _, port: talk(port, bytes.fromhex("100c00044d5154540402003c0000")).hex()),
    Program("memcached", "memcached", lambda _, port: ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)],
            lambda _, port: talk(port, b"set a 0 0 1\r\n1\r\n").decode()),
    Program("nginx", "nginx", nginx,
            lambda _, port: talk(port, b"GET / HTTP/1.0\r\n\r\n").decode().splitlines()[0]),
    Program("redis", "redis-server", lambda directory, port: ["redis-server", "--port", str(port), "--save", "",
                                                              "--dir", directory, "--logfile", directory + "/log"],
            lambda _, port: talk(port, b"DEBUG SLEEP 0.7\r\n").decode(), reports=0),
    Program("node", "node", lambda *_: ["node", "-e", NODE_SCRIPT], reports=1),
    Program("python", "python3", lambda *_: ["python3", "-c", PYTHON_SCRIPT], reports=1),
    Program("java", "java", java, reports=1, traits=["children"]),
    Program("chromium", "chromium", lambda directory, _: [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--user-data-dir=" + directory, "--dump-dom", "data:text/html,<p>hello"], traits=["others", "stdout"]),
    Program("vim", "vim", lambda *_: ["vim", "-u", "NONE", "-es", "-c", "sleep 300m", "-c", "qa!"]),
    Program("vlc", "cvlc", lambda *_: ["cvlc", "--intf", "dummy", "--vout", "dummy", "--aout", "dummy", "vlc://pause:1",
                                       "vlc://quit"], traits=["all", "others", "stdout", "user"]),
    Program("postgres", "psql", postgres_command, ask_postgres, reports=1, traits=["children", "nobody"]),
]


def installed():
    return [program for program in PROGRAMS if shutil.which(program.program)]
