# SPDX-License-Identifier: Apache-2.0
"""Real programs that end by themselves: interpreters, compilers, wrappers, what traces, forks, preloads or confines.

Each prints the same in every run. TOOLS: a name, the command, how many reports it has at least, and traits as in hosts.py;
`others` where a start or a compilation may take long after a poll. {directory} is replaced by a directory of its own.
"""

PACKAGES = [
    "apache2-bin", "aria2", "bc", "bind9", "bsdextrautils", "bubblewrap", "busybox", "cmake", "curl", "dnsmasq-base",
    "dropbear-bin", "emacs-nox", "erlang-base", "expect", "faketime", "fakeroot", "ffmpeg", "fish", "gawk", "gdb", "git",
    "gnuplot-nox", "graphviz", "gstreamer1.0-plugins-base", "gstreamer1.0-tools", "guile-3.0", "haproxy", "imagemagick", "jq",
    "libjemalloc2", "libmimalloc2.0", "libtcmalloc-minimal4", "lighttpd", "ltrace", "lua5.4", "make", "mc",
    "nodejs", "nano", "ninja-build", "openssl", "perl", "php-cli", "pigz", "redis-server", "rsync", "ruby", "screen", "socat", "sox", "sqlite3",
    "strace", "stunnel4", "tcl", "tmux", "unbound", "uwsgi-core", "valgrind", "varnish", "wget", "xz-utils", "zsh", "zstd",
]

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
PERL_HANG = ("select undef,undef,undef,0.01 for 1..12; $e=time+2; 1 while time<$e; "
             "select undef,undef,undef,0.01 for 1..3; print qq(done\\n)")
PHP_HANG = ("for($i=0;$i<15;$i++){if($i==12){$e=microtime(true)+0.9;while(microtime(true)<$e);}"
            "$r=[STDIN];$r=[stream_socket_pair(STREAM_PF_UNIX,STREAM_SOCK_STREAM,0)[0]];$w=$x=null;stream_select($r,$w,$x,0,9000);}echo 'done';")
PYTHON_HANG = ("import select,time\nfor i in range(16):\n select.select([],[],[],0.01)\n if i==12:\n  e=time.monotonic()+0.9\n"
               "  while time.monotonic()<e: pass\nprint('done')")
PYTHON = ["/usr/bin/python3", "-c", PYTHON_HANG]

TOOLS = [
    ("perl", ["perl", "-e", PERL_HANG], 1),
    ("perl_fork", ["perl", "-e", "for(1..5){if(!fork){select undef,undef,undef,0.02;exit 3} wait; print $?>>8}"]),
    ("perl_signals", ["perl", "-e", "$SIG{ALRM}=sub{print 'alarm'}; alarm 1; select undef,undef,undef,3; print 'done'"], 0, ["others"]),
    ("ruby", ["ruby", "-e", "10.times{sleep 0.01}; t=Thread.new{sleep 0.05; 7}; puts t.value; puts `echo child`; fork{exit 4}; Process.wait; puts $?.exitstatus"], 0, ["others"]),
    ("php", ["php", "-r", PHP_HANG], 1),
    ("lua", ["lua5.4", "-e", "local n=0 for i=1,1e6 do n=n+i end print(n) print(io.popen('echo child'):read())"]),
    ("guile", ["guile", "--no-auto-compile", "-c", "(use-modules (ice-9 threads)) (usleep 1000) (display (join-thread (call-with-new-thread (lambda () 7))))"], 0, ["others"]),
    ("tcl", ["tclsh8.6"], 0, ["others"]),
    ("gawk", ["gawk", "BEGIN{while((\"seq 1 1000\"|getline x)>0)n+=x; print n}"]),
    ("jq", ["jq", "-n", "[range(100000)]|add"]),
    ("bc", ["sh", "-c", "echo '2^2000' | bc | md5sum"]),
    ("sqlite", ["sqlite3", ":memory:", "create table t(a); with recursive c(x) as (select 1 union all select x+1 from c where x<100000) "
                "insert into t select x from c; select sum(a) from t"]),
    ("python_selects", PYTHON, 1),
    ("python_with_jemalloc", ["env", f"LD_PRELOAD={LIBRARIES}libjemalloc.so.2", *PYTHON], 1),
    ("python_with_tcmalloc", ["env", f"LD_PRELOAD={LIBRARIES}libtcmalloc_minimal.so.4", *PYTHON], 1),
    ("python_with_mimalloc", ["env", f"LD_PRELOAD={LIBRARIES}libmimalloc.so.2.0", *PYTHON], 1),
    ("python_in_another_year", ["faketime", "2020-12-24 20:30:00", *PYTHON], 1),
    ("python_in_faked_root", ["fakeroot", *PYTHON], 1, ["others"]),
    ("python_in_sandbox", ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", *PYTHON], 1),
    ("python_in_scope", ["setsid", "-w", "nice", "-n", "2", "chrt", "-b", "0", "taskset", "1", "stdbuf", "-oL", *PYTHON], 1),
    ("python_under_timeout", ["timeout", "-k", "1", "50", *PYTHON], 1),
    ("python_traced", ["strace", "-f", "-o", "{directory}/trace", *PYTHON], 0, ["others"]),
    ("python_in_gdb", ["gdb", "-nx", "-batch", "-ex", "run", "-ex", "print 6*7", "--args", "/bin/echo", "hello"], 0, ["others", "code"]),
    ("valgrind", ["valgrind", "-q", "/bin/echo", "hello"], 0, ["others"]),
    ("python_multiprocessing", ["/usr/bin/python3", "-c", "import multiprocessing as m\nif __name__=='__main__':\n"
                                " with m.get_context('fork').Pool(3) as p: print(p.map(abs,range(-50,0)))"], 0, ["others"]),
    ("python_threads", ["/usr/bin/python3", "-c", "import concurrent.futures as c\nwith c.ThreadPoolExecutor(8) as p: print(sum(p.map(abs,range(5000))))"], 0, ["others"]),
    ("python_subprocesses", ["/usr/bin/python3", "-c", "import subprocess as s\nfor i in range(8): print(s.run(['sh','-c',f'exit {i}']).returncode)"], 0, ["others"]),
    ("python_asyncio_children", ["/usr/bin/python3", "-c", "import asyncio\nasync def f():\n for i in range(5):\n  p=await asyncio.create_subprocess_exec('true')\n"
                                 "  print(await p.wait())\nasyncio.run(f())"], 0, ["others"]),
    ("node_workers", ["node", "-e", "const {Worker}=require('worker_threads');const w=new Worker(\"require('worker_threads').parentPort.postMessage(42)\",{eval:true});"
                      "w.on('message',m=>console.log(m))"], 0, ["others"]),
    ("node_children", ["node", "-e", "const c=require('child_process');console.log(c.spawnSync('echo',['sync']).stdout.toString());"
                       "c.exec('exit 5',(e)=>console.log(e.code))"], 0, ["others"]),
    ("erlang", ["erl", "-noshell", "-eval", "P=self(), spawn(fun()->P!hello end), receive X->io:format(\"~p~n\",[X]) end, halt()."], 0, ["others"]),
    ("emacs", ["emacs", "-Q", "--batch", "--eval", "(progn (sit-for 0.1) (princ (shell-command-to-string \"echo child\")))"], 0, ["others"]),
    ("bash", ["bash", "-c", "for i in 1 2 3; do (exit $i) & wait $!; echo $?; done; coproc cat; echo x >&${COPROC[1]}; read -t 2 y <&${COPROC[0]}; echo $y; kill $COPROC_PID; trap 'echo end' EXIT"]),
    ("zsh", ["zsh", "-f", "-c", "for i in 1 2 3; do (exit $i); echo $?; done; print -l /bin/tru*; sleep 0.1 & wait; echo done"]),
    ("fish", ["fish", "--no-config", "-c", "for i in 1 2 3; sh -c \"exit $i\"; echo $status; end"], 0, ["others"]),
    ("dash", ["dash", "-c", "trap 'echo term' TERM; kill -TERM $$; seq 1 3 | while read x; do echo $x; done"]),
    ("tmux", ["sh", "-c", "tmux -L l$$ -f /dev/null new-session -d 'sleep 30'; tmux -L l$$ list-sessions -F '#{session_windows}'; tmux -L l$$ kill-server"], 0, ["others"]),
    ("expect", ["expect", "-c", "log_user 0; spawn sh -c {read x; echo got $x}; send \"word\\r\"; expect {got word}; puts found; wait"], 0, ["others"]),
    ("script", ["script", "-qc", "echo in a terminal", "/dev/null"], 0, ["others"]),
    ("git", ["sh", "-c", "cd {directory}; git init -q .; git config user.email a@b; git config user.name a; echo x > f; git add f; git commit -qm one; git gc -q; git log --format=%s; rm -rf .git f"], 0, ["others"]),
    ("make", ["sh", "-c", "printf 'all: a b c\\na b c:\\n\\t@sleep 0.1\\n\\t@echo made\\n' > {directory}/Makefile; make -s -j3 -f {directory}/Makefile"], 0, ["others"]),
    ("ninja", ["sh", "-c", "printf 'rule r\\n command = sleep 0.1 && touch $out\\nbuild {directory}/a: r\\nbuild {directory}/b: r\\n' > {directory}/build.ninja; "
               "cd {directory}; ninja --quiet && ls {directory} | grep -c '^[ab]$'"], 0, ["others"]),
    ("gcc", ["sh", "-c", "echo 'int main(){return 7;}' | gcc -pipe -x c - -o {directory}/a && {directory}/a; echo $?"]),
    ("clang", ["sh", "-c", "echo 'int main(){return 7;}' | clang -x c - -o {directory}/a && {directory}/a; echo $?"]),
    ("cmake", ["cmake", "-E", "env", "A=b", "cmake", "-E", "echo", "hello"]),
    ("tar", ["sh", "-c", "tar czf - /usr/share/doc/bash 2>/dev/null | tar tzf - | wc -l"]),
    ("xz", ["sh", "-c", "seq 1 300000 | xz -T2 -1 | xz -d | md5sum"], 0, ["others"]),
    ("zstd", ["sh", "-c", "seq 1 900000 | zstd -q -T2 | zstd -dq | md5sum"]),
    ("pigz", ["sh", "-c", "seq 1 900000 | pigz -p 3 | pigz -d | md5sum"]),
    ("sort", ["sh", "-c", "seq 1 400000 | sort -r --parallel=3 | sort -n --parallel=3 | md5sum"]),
    ("openssl", ["sh", "-c", "openssl rand 3000000 | openssl enc -aes-128-ctr -pass pass:a -pbkdf2 | wc -c; echo x | openssl dgst -sha256"]),
    ("ssh_keygen", ["sh", "-c", "ssh-keygen -q -t ed25519 -N '' -f {directory}/key && ls {directory}"]),
    ("ffmpeg", ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=d=1:s=160x120", "-f", "md5", "-"], 0, ["others"]),
    ("sox", ["sox", "-R", "-n", "-t", "raw", "-r", "8000", "-", "synth", "1", "sine", "400", "stat", "-rms"], 0, ["others", "code"]),
    ("gstreamer", ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=30", "!", "fakesink"], 0, ["others"]),
    ("graphviz", ["dot", "-Tplain"], 0, ["others"]),
    ("gnuplot", ["gnuplot", "-e", "set terminal dumb; plot sin(x)"], 0, ["others"]),
    ("imagemagick", ["convert", "-size", "200x200", "plasma:red-blue", "-seed", "1", "-resize", "50%", "null:"], 0, ["others"]),
    ("busybox", ["busybox", "sh", "-c", "for i in 1 2 3; do echo $i; done | busybox wc -l"]),
    ("socat", ["sh", "-c", "echo hello | socat -t 1 - EXEC:cat"], 0, ["others"]),
    ("rsync", ["sh", "-c", "mkdir {directory}/a; seq 1 1000 > {directory}/a/x; rsync -a {directory}/a/ {directory}/b/; md5sum < {directory}/b/x"], 0, ["others"]),
]
