# SPDX-License-Identifier: Apache-2.0
"""The programs of watch.py. Each has a loop that looks for the file FLAG, and freezes for 1.5 s as that says."""
import pathlib
import shutil
import socket
import subprocess
import time

from harness.processes import QUIET, compiled, kill_group, wait_for

PACKAGES = ["chromium", "curl", "gdb", "golang-go", "lua-socket", "lua5.4", "nginx-light", "nodejs", "openjdk-17-jdk-headless", "perl", "php-cli", "postgresql",
            "redis-server", "redis-tools", "ruby", "x11-apps", "xvfb"]

PYTHON = """
import os, select, subprocess, sys, time
flag = sys.argv[1]
def compute():
    end = time.time() + 1.5
    while time.time() < end: pass
ways = {"sleep": lambda: time.sleep(1.5), "compute": compute, "child": lambda: subprocess.run(["sleep", "1.5"]),
        "file": lambda: open(flag + ".fifo").read()}
loop = select.poll()
loop.register(os.pipe()[0], select.POLLIN)
while True:
    loop.poll(50)
    if os.path.exists(flag):
        ways[open(flag).read().strip()]()
        os.unlink(flag)
"""
ASYNCIO = """
import asyncio, os, subprocess, sys, time
flag = sys.argv[1]
def compute():
    end = time.time() + 1.5
    while time.time() < end: pass
ways = {"sleep": lambda: time.sleep(1.5), "compute": compute, "child": lambda: subprocess.run(["sleep", "1.5"])}
async def run():
    while True:
        await asyncio.sleep(0.05)
        if os.path.exists(flag):
            ways[open(flag).read().strip()]()
            os.unlink(flag)
asyncio.run(run())
"""
NODE = """
const fs = require('fs'), flag = process.argv[1];
const ways = {
  sleep: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500),
  compute: () => { const end = Date.now() + 1500; while (Date.now() < end); },
  child: () => require('child_process').execSync('sleep 1.5')};
setInterval(() => { if (fs.existsSync(flag)) { ways[fs.readFileSync(flag, 'utf8').trim()](); fs.unlinkSync(flag); } }, 50);
"""
RUBY = """
flag = ARGV[0]
r, w = IO.pipe
ways = {'sleep' => -> { sleep 1.5 }, 'child' => -> { system('sleep 1.5') },
        'compute' => -> { e = Time.now + 1.5; nil while Time.now < e }}
loop do
  IO.select([r], nil, nil, 0.05)
  if File.exist?(flag)
    ways[File.read(flag).strip].call
    File.unlink(flag)
  end
end
"""
PERL = """
use Time::HiRes qw(time sleep);
my $flag = $ARGV[0];
pipe(my $r, my $w);
my %ways = (sleep => sub { sleep 1.5 }, child => sub { system('sleep 1.5') },
            compute => sub { my $end = time + 1.5; 1 while time < $end; });
while (1) {
  my $set = ''; vec($set, fileno($r), 1) = 1;
  select($set, undef, undef, 0.05);
  next unless -e $flag;
  open(my $file, '<', $flag); my $how = <$file>; close($file); chomp $how;
  $ways{$how}->();
  unlink $flag;
}
"""
PHP = """
$flag = $argv[1];
$pair = stream_socket_pair(1, 1, 0);
while (true) {
  $r = [$pair[0]]; $w = $e = null;
  stream_select($r, $w, $e, 0, 50000);
  clearstatcache();
  if (!file_exists($flag)) continue;
  $how = trim(file_get_contents($flag));
  if ($how == 'sleep') usleep(1500000);
  if ($how == 'child') shell_exec('sleep 1.5');
  if ($how == 'compute') { $end = microtime(true) + 1.5; while (microtime(true) < $end); }
  unlink($flag);
}
"""
LUA = """
local socket = require('socket')
local flag = arg[1]
local server = socket.bind('127.0.0.1', 0)
while true do
  socket.select({server}, nil, 0.05)
  local file = io.open(flag)
  if file then
    local how = file:read('l'); file:close()
    if how == 'sleep' then socket.sleep(1.5) end
    if how == 'child' then os.execute('sleep 1.5') end
    if how == 'compute' then local e = socket.gettime() + 1.5 while socket.gettime() < e do end end
    os.remove(flag)
  end
end
"""
JAVA = """
import java.nio.file.*;
public class Loop {
  static void compute() { long end = System.nanoTime() + 1500000000L; while (System.nanoTime() < end) {} }
  public static void main(String[] words) throws Exception {
    Path flag = Path.of(words[0]);
    var selector = java.nio.channels.Selector.open();
    while (true) {
      selector.select(50);
      if (!Files.exists(flag)) continue;
      switch (Files.readString(flag).trim()) {
        case "sleep" -> Thread.sleep(1500);
        case "child" -> new ProcessBuilder("sleep", "1.5").start().waitFor();
        default -> compute();
      }
      Files.delete(flag);
    }
  }
}
"""
USUAL = ["sleep", "compute", "child"]


class FreezingProgram:
    """A program that freezes when its flag appears."""

    def __init__(self, name, command, ways=None):
        self.name, self.command, self.ways = name, [str(word) for word in command], ways or USUAL

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


class FreezingRedis(FreezingProgram):
    """redis-server, which is asked to freeze itself."""

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


def freezing(work):
    """The programs that are installed."""
    (work / "Loop.java").write_text(JAVA)
    compiled(pathlib.Path(__file__).parent / "loop.c", work / "loop", "-static")
    (work / "loop.lua").write_text(LUA)
    every = [FreezingProgram("c_static", [work / "loop"], USUAL + ["lock"]),
             FreezingProgram("python", ["/usr/bin/python3", "-c", PYTHON], USUAL + ["file"]),
             FreezingProgram("asyncio", ["/usr/bin/python3", "-c", ASYNCIO]),
             FreezingProgram("node", ["node", "-e", NODE, "--"]),
             FreezingProgram("ruby", ["ruby", "-e", RUBY, "--"]),
             FreezingProgram("perl", ["perl", "-e", PERL]),
             FreezingProgram("php", ["php", "-r", PHP, "--"]),
             FreezingProgram("lua", ["lua5.4", work / "loop.lua"]),
             FreezingProgram("java", ["java", work / "Loop.java"]),
             FreezingRedis("redis", ["redis-server", "--port", "0", "--save", "", "--enable-debug-command", "yes"], ["sleep", "script"])]
    return [program for program in every if shutil.which(program.command[0])]
