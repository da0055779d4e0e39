# SPDX-License-Identifier: Apache-2.0
"""Real programs as hosts: servers that drop their privileges, interpreters, wrapper scripts, editors.

`scripts/bench hosts` installs PACKAGES; a program that is missing is left out.
"""
import dataclasses
import pathlib
import shutil
import socket
import subprocess
import time
import typing

import real_tools
from harness import servers
from harness.processes import wait_for

PACKAGES = ["chromium", "mosquitto", "memcached", "nginx-light", "postgresql", "vim", "vlc-bin", "vlc-plugin-base",
            *real_tools.PACKAGES]

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
        except ConnectionResetError:
            return b"reset"
    return b"no answer"


@dataclasses.dataclass
class RealProgram:
    """One program: its command, and for a server what a client asks it before SIGTERM ends it."""
    name: str
    program: str  # that must be installed
    command: typing.Callable  # of a directory and a port
    drive: typing.Callable = None  # of a directory and a port: returns the output to compare
    reports: int = 0  # at least so many
    traits: typing.Sequence = ()


def mosquitto(directory, port):
    return ["mosquitto", "-c", written(directory, "config", f"listener {port} 127.0.0.1\nallow_anonymous true\nuser nobody\n")]


def java(directory, _):
    return ["java", "-XX:TieredStopAtLevel=1", written(directory, "Host.java", JAVA_PROGRAM)]


def written(directory, name, text):
    """The path of a new file."""
    path = pathlib.Path(directory) / name
    path.write_text(text)
    return str(path)


def lighttpd(directory, port):
    return ["lighttpd", "-D", "-f", written(directory, "config", f"""
server.document-root = "{directory}"
server.port = {port}
server.bind = "127.0.0.1"
server.errorlog = "{directory}/log"
""")]


def apache(directory, port):
    modules = "/usr/lib/apache2/modules/mod_"
    return ["apache2", "-DFOREGROUND", "-f", written(directory, "config", f"""
LoadModule mpm_event_module {modules}mpm_event.so
LoadModule authz_core_module {modules}authz_core.so
ServerName localhost
Listen 127.0.0.1:{port}
User nobody
Group nogroup
PidFile {directory}/pid
ErrorLog {directory}/log
Mutex fcntl:{directory}
DocumentRoot {directory}
""")]


def haproxy(directory, port):
    return ["haproxy", "-f", written(directory, "config", f"""
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect 5s
frontend f
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain string hello
""")]


def stunnel(directory, port):
    return ["stunnel4", written(directory, "config", f"""
foreground = quiet
pid =
debug = 0
[a]
client = yes
accept = 127.0.0.1:{port}
connect = 127.0.0.1:1
""")]


def settled(drive):
    """Lets the server close the connection, too: the exit code of lighttpd says whether one was open, bare as well."""
    def drive_and_wait(directory, port):
        answer = drive(directory, port)
        time.sleep(0.2)
        return answer
    return drive_and_wait


def first_line(request):
    return lambda _, port: talk(port, request).decode(errors="replace").split("\r\n")[0]


def ask_name(_, port):
    """Asks a name server over TCP for its version; the answer's question."""
    question = bytes.fromhex("0001010000010000000000000776657273696f6e0462696e640000100003")
    return talk(port, len(question).to_bytes(2, "big") + question)[14:].hex()[:32]


def postgres(directory, port):
    as_nobody = "setpriv --reuid=nobody --clear-groups"
    shell, option, script = servers.postgres(directory, port, as_nobody)
    return [shell, option, f"chown nobody {directory}; {script}"]


def ask_postgres(_, port):
    query = "select count(*) from generate_series(1, 8000000) i where i % 7 = 0"

    def ask():
        asked = subprocess.run([*servers.psql(port), "-c", query], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return asked.returncode == 0 and asked.stdout.decode()
    return wait_for(ask, 30) or "no answer"


GET = b"GET / HTTP/1.0\r\n\r\n"
PROGRAMS = [
    RealProgram("mosquitto", "mosquitto", mosquitto,
            lambda _, port: talk(port, bytes.fromhex("100c00044d5154540402003c0000")).hex()),
    RealProgram("memcached", "memcached", lambda _, port: ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)],
            lambda _, port: talk(port, b"set a 0 0 1\r\n1\r\n").decode()),
    RealProgram("nginx", "nginx", lambda directory, port: servers.nginx(directory, f"127.0.0.1:{port}", "hello", "nobody nogroup"),
            first_line(GET)),
    RealProgram("redis", "redis-server", lambda directory, port: ["redis-server", "--port", str(port), "--save", "",
                                                              "--dir", directory, "--logfile", directory + "/log",
                                                              "--enable-debug-command", "local"],
            lambda _, port: talk(port, b"DEBUG SLEEP 0.7\r\n").decode(), reports=1),
    RealProgram("node", "node", lambda *_: ["node", "-e", NODE_SCRIPT], reports=1),
    RealProgram("python", "python3", lambda *_: ["python3", "-c", PYTHON_SCRIPT], reports=1),
    RealProgram("java", "java", java, reports=1, traits=["children"]),
    RealProgram("chromium", "chromium", lambda directory, _: [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--user-data-dir=" + directory, "--dump-dom", "data:text/html,<p>hello"], traits=["others", "stdout"]),
    RealProgram("vim", "vim", lambda *_: ["vim", "-u", "NONE", "-es", "-c", "sleep 300m", "-c", "qa!"]),
    RealProgram("vlc", "cvlc", lambda *_: ["cvlc", "--intf", "dummy", "--vout", "dummy", "--aout", "dummy", "vlc://pause:1",
                                       "vlc://quit"], traits=["all", "others", "stdout", "user"]),
    RealProgram("postgres", "psql", postgres, ask_postgres, reports=1, traits=["children", "nobody"]),
]

NODE_SERVER = "require('http').createServer((q,r)=>r.end('hello')).listen(+process.argv[1],'127.0.0.1')"
SERVERS = [
    RealProgram("lighttpd", "lighttpd", lighttpd, settled(first_line(GET))),
    RealProgram("apache", "apache2", apache, first_line(GET), traits=["others"]),
    RealProgram("haproxy", "haproxy", haproxy, first_line(GET)),
    RealProgram("stunnel", "stunnel4", stunnel, lambda _, port: talk(port, b"x").hex()),
    RealProgram("python_http", "python3", lambda directory, port: ["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1",
                                                               "-d", directory, str(port)], first_line(GET)),
    RealProgram("php_http", "php", lambda directory, port: ["php", "-q", "-t", directory, "-S", f"127.0.0.1:{port}"], first_line(GET)),
    RealProgram("node_http", "node", lambda _, port: ["node", "-e", NODE_SERVER, str(port)], first_line(GET), traits=["others"]),
    RealProgram("busybox_http", "busybox", lambda directory, port: ["busybox", "httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", directory],
            first_line(GET)),
    RealProgram("socat_server", "socat", lambda _, port: ["socat", f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork", "EXEC:cat"],
            lambda _, port: talk(port, b"hello").decode()),
    RealProgram("dnsmasq", "dnsmasq", lambda directory, port: ["dnsmasq", "-k", "-C", "/dev/null", "-p", str(port), "-a", "127.0.0.1", "-z",
                                                           "-u", "nobody", "-x", directory + "/pid", "-R"], ask_name),
    RealProgram("named", "named", lambda directory, port: ["named", "-g", "-n", "2", "-p", str(port), "-c", written(
        directory, "config", f'options {{ directory "{directory}"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }};'
        ' listen-on { 127.0.0.1; }; recursion no; dnssec-validation no; }; controls { };')], ask_name, traits=["others"]),
    RealProgram("dropbear", "dropbear", lambda directory, port: ["dropbear", "-F", "-E", "-R", "-r", directory + "/key", "-p",
                                                             f"127.0.0.1:{port}", "-P", directory + "/pid"], first_line(b"")),
]


def tool(name, command, reports=0, traits=()):
    """A program of real_tools.py."""
    def place(directory, _):
        return [word.replace("{directory}", directory) for word in command]
    return RealProgram(name, command[0], place, reports=reports, traits=traits)


def installed():
    programs = PROGRAMS + SERVERS + [tool(*row) for row in real_tools.TOOLS]
    return [program for program in programs if shutil.which(program.program)]
