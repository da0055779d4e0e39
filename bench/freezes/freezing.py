# SPDX-License-Identifier: Apache-2.0
"""Real programs that freeze for 1.5 s on request, each in a known function and for a known reason.

Most have a loop that looks for the file FLAG, and freeze as that says (programs/). `freezing` has all that are installed.
"""
import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess
import time

from harness.processes import QUIET, compiled, kill_group, wait_for

PACKAGES = ["golang-go", "lua-socket", "lua5.4", "musl-tools", "nodejs", "openjdk-17-jdk-headless", "perl", "php-cli", "postgresql", "redis-server",
            "ruby"]
FOLDER = pathlib.Path(__file__).parent / "programs"
PYTHON = "/usr/bin/python3"


@dataclasses.dataclass
class Truth:
    """The report that a freeze should have: one of the words, one of the functions in its cause; and the last owner in its wait chain,
    by the name of a thread or a process, and its function."""
    words: str
    functions: str
    owner: str = ""
    owner_function: str = ""


def usual(style):
    """The ways of most languages; `style` makes a function's name of one."""
    return {"sleep": Truth("sleep lock", style("sleep")), "compute": Truth("cpu", style("compute")),
            "child": Truth("process pipe", style("child"), "sleep sh")}


def snake(way):
    return f"freeze_{way}"


def camel(way):
    return f"freeze{way.capitalize()}"


def native(*ways):
    """The ways of freezing.c."""
    kept = lambda word, way: Truth(word, f"Freeze{way}", "keeper", "KeepIt")
    every = {"sleep": Truth("sleep", "FreezeSleep"), "compute": Truth("cpu", "FreezeCompute"), "child": kept("process", "Child"),
             "flock": kept("lock", "Flock"), "mutex": kept("lock", "Mutex"), "pipe": kept("pipe", "Pipe"), "socket": kept("pipe service", "Socket")}
    return {way: every[way] for way in ways or every}


class FreezingProgram:
    """A program that freezes when its flag appears."""

    def __init__(self, name, command, ways):
        self.name, self.command, self.ways = name, [str(word) for word in command], ways

    def start(self, work):
        self.flag = work / f"{self.name}.flag"
        self.run(work, str(self.flag))

    def run(self, work, *arguments):
        self.process = subprocess.Popen([*self.command, *arguments], cwd=work, start_new_session=True, **QUIET)
        self.pid = self.process.pid

    def freeze(self, way):
        """Returns when it is over."""
        if way == "file":
            subprocess.Popen(["sh", "-c", f"mkfifo '{self.flag}.fifo'; sleep 1.7; echo > '{self.flag}.fifo'"])
            time.sleep(0.2)
        (new := self.flag.with_suffix(".new")).write_text(way + "\n")
        new.rename(self.flag)
        wait_for(lambda: not self.flag.exists())

    def close(self):
        kill_group(self.process)


class DeletedProgram(FreezingProgram):
    """Its executable is deleted when it has started, as by an update."""

    def start(self, work):
        super().start(work)
        time.sleep(0.2)
        pathlib.Path(self.command[0]).unlink()


class ProgramInRoot(FreezingProgram):
    """It has a root of its own, with the libraries that it needs."""

    def __init__(self, name, program, work, ways):
        self.root = work / "root"
        (self.root / "bin").mkdir(parents=True)
        shutil.copy(program, self.root / "bin/inside")
        for word in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.split():
            if word.startswith("/"):
                (self.root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, self.root / word[1:])
        super().__init__(name, ["chroot", self.root, "/bin/inside"], ways)

    def start(self, work):
        self.flag = self.root / "flag"
        self.run(work, "/flag")


class FreezingRedis(FreezingProgram):
    """redis-server, which is asked to freeze itself."""

    def __init__(self, name):
        super().__init__(name, ["redis-server", "--port", "0", "--save", "", "--enable-debug-command", "yes"],
                         {"sleep": Truth("sleep", "debugCommand"), "script": Truth("cpu", "user_script")})

    def start(self, work):
        self.path = work / "redis.socket"
        self.run(work, "--unixsocket", str(self.path))

    def freeze(self, way):
        question = {"sleep": "DEBUG SLEEP 1.5\r\n", "script": 'EVAL "for i=1,3e8 do end" 0\r\n'}[way]
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(str(self.path))
            client.sendall(question.encode())
            client.recv(100)


class FreezingPostgres(FreezingProgram):
    """A backend of PostgreSQL, which waits for a lock that another one has."""

    def __init__(self, name):
        super().__init__(name, ["psql"], {"table": Truth("lock", "ProcSleep LockAcquire LockRelation WaitOnLock", "postgres"),
                                          "row": Truth("lock", "ProcSleep LockAcquire XactLockTableWait WaitOnLock", "postgres")})

    def start(self, work):
        folder = work / "postgres"
        folder.mkdir(mode=0o777)
        work.chmod(0o755)
        folder.chmod(0o777)
        programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        script = (f"cd {folder} && {programs}/initdb -A trust -U u -D data >/dev/null && exec {programs}/postgres -D data -k {folder} -h '' "
                  "-c log_min_messages=fatal")
        self.process = subprocess.Popen(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "sh", "-c", script],
                                        start_new_session=True, **QUIET)
        self.client = ["psql", "-h", str(folder), "-U", "u", "-qAt", "postgres"]
        self.ask = lambda text: subprocess.run([*self.client, "-c", text], check=False, capture_output=True, text=True)
        wait_for(lambda: self.ask("create table t (i int)").returncode == 0, 60)
        self.ask("insert into t values (1)")
        self.session = subprocess.Popen(self.client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.pid = int(self.answer("select pg_backend_pid();"))

    def turn(self):
        """It is in use."""
        for _ in range(30):
            self.answer("select 1;")
            time.sleep(0.02)

    def answer(self, question):
        self.session.stdin.write(question + "\n")
        self.session.stdin.flush()
        return self.session.stdout.readline().strip()

    def freeze(self, way):
        self.turn()
        take = {"table": "lock table t in access exclusive mode", "row": "update t set i = i + 1"}[way]
        holder = subprocess.Popen([*self.client, "-c", "begin", "-c", take, "-c", "select pg_sleep(1.7)", "-c", "commit"], **QUIET)
        time.sleep(0.2)
        self.answer({"table": "select count(*) from t;", "row": "update t set i = i + 1 returning i;"}[way])
        holder.wait()
        self.turn()

    def close(self):
        kill_group(self.session)
        kill_group(self.process)


def build(work):
    """The programs in C and Go."""
    source = FOLDER / "freezing.c"
    compiled(source, work / "dynamic")
    compiled(source, work / "static", "-static")
    compiled(source, work / "deleted")
    if shutil.which("musl-gcc"):
        compiled(source, work / "musl", "-static", compiler="musl-gcc")
    if shutil.which("go"):
        subprocess.run(["go", "build", "-o", work / "goroutines", FOLDER / "freezing.go"], check=True, env=os.environ | {"GOCACHE": f"{work}/go-cache", "GO111MODULE": "off"})



def freezing(work):
    """The programs that are installed."""
    build(work)
    python = usual(snake)
    every = [FreezingProgram("dynamic", [work / "dynamic"], native()),
             FreezingProgram("static", [work / "static"], native()),
             FreezingProgram("musl", [work / "musl"], native()),
             DeletedProgram("deleted", [work / "deleted"], native("sleep", "compute", "mutex", "child")),
             ProgramInRoot("chroot", work / "dynamic", work, native("sleep", "compute", "mutex", "child")),
             FreezingProgram("python", [PYTHON, FOLDER / "freezing.py"],
                             python | {"file": Truth("pipe", "freeze_file"), "lock": Truth("lock", "freeze_lock", "keeper python3", "keep_lock keep_it")}),
             FreezingProgram("asyncio", [PYTHON, FOLDER / "freezing_asyncio.py"], python),
             FreezingProgram("peer", [PYTHON, FOLDER / "asking.py"],
                             {"unix": Truth("service", "freeze_unix ask", "python3", "answer_slowly"),
                              "tcp": Truth("network", "freeze_tcp ask", "python3", "answer_slowly")}),
             FreezingProgram("node", ["node", FOLDER / "freezing.js"], usual(camel)),
             FreezingProgram("ruby", ["ruby", FOLDER / "freezing.rb"], usual(snake)),
             FreezingProgram("perl", ["perl", FOLDER / "freezing.pl"], usual(snake)),
             FreezingProgram("php", ["php", FOLDER / "freezing.php"], usual(snake)),
             FreezingProgram("lua", ["lua5.4", FOLDER / "freezing.lua"], usual(snake)),
             FreezingProgram("java", ["java", FOLDER / "Freezing.java"],
                             usual(camel) | {"child": Truth("process lock", "freezeChild"),  # a thread of the JVM's waits for it
                                             "lock": Truth("lock", "freezeLock", "keeper", "keepIt")}),
             FreezingProgram("go", [work / "goroutines"], {"lock": Truth("lock", "freezeLock"), "channel": Truth("lock", "freezeChannel")}),
             FreezingRedis("redis"),
             FreezingPostgres("postgres")]
    return [program for program in every if shutil.which(program.command[0])]
