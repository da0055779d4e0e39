#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types command lines into a shell, and looks at what the Tab key makes of them.

Usage: completion_test.py bash|fish|zsh DIRECTORY_OF_COMPLETIONS DIRECTORY_OF_PROGRAMS
"""
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
import time

PATIENCE_S = 60
ENDED = "the line has ended"
ROWS, COLUMNS = 100, 400


class Terminal:
    """A shell with a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: str):
        self.text = self.raw = ""
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            termios.tcsetwinsize(0, (ROWS, COLUMNS))
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def wait_for(self, text: str) -> str:
        """Returns the output since the last call, up to the text, without escape sequences."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.text:
            assert time.monotonic() < end, f"no {text!r} in {self.text!r}"
            if select.select([self.screen], [], [], 1)[0]:
                self.raw += os.read(self.screen, 65536).decode(errors="replace")
                self.text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07", "", self.raw)
        before, _, self.raw = self.text.partition(text)
        self.text = self.raw
        return before + text

    def close(self) -> None:
        os.close(self.screen)
        os.waitpid(self.pid, 0)


class Shell:
    def __init__(self, name: str, completions: pathlib.Path, environment: dict[str, str], folder: str):
        self.name, self.environment, self.folder = name, environment, folder
        if name == "fish":
            self.completions = completions / "lagwatch.fish"
            return
        command = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[name]
        self.terminal = Terminal(command, environment, folder)
        if name == "bash":
            self.terminal.type("bind 'set completion-query-items 0'; bind 'set page-completions off'; "
                               "bind 'set show-all-if-ambiguous on'; bind 'set enable-bracketed-paste off'\n"
                               f". {completions}/lagwatch.bash; PS1=''; echo rea''dy\n")
        else:
            self.terminal.type(f"fpath=({completions} $fpath); autoload -Uz compinit; compinit -D -u; PROMPT=''; "
                               "LISTMAX=100000; unsetopt zle_bracketed_paste prompt_sp; setopt list_rows_first; "
                               "zstyle ':completion:*' list-prompt ''; echo rea''dy\n")
        self.terminal.wait_for("ready\r\n")

    def complete(self, line: str, wanted: str) -> str:
        """Returns what the Tab key makes of the line, or lists, which has `wanted`."""
        if self.name == "fish":
            script = f"source {self.completions}; complete -C {json.dumps(line)}"
            result = subprocess.run(["fish", "--no-config", "-c", script], env=self.environment, cwd=self.folder,
                                    capture_output=True, text=True, timeout=PATIENCE_S)
            assert result.returncode == 0 and not result.stderr, result.stderr
            assert wanted in result.stdout, f"fish completes {line!r} to {result.stdout!r}"
            return result.stdout
        self.terminal.type(line + "\t")
        seen = self.terminal.wait_for(wanted)
        self.terminal.type(f"\x05\x15echo '{ENDED[:4]}''{ENDED[4:]}'\n")  # the line is not run
        return seen + self.terminal.wait_for(ENDED + "\r\n")

    def close(self) -> None:
        if self.name != "fish":
            self.terminal.close()


def main() -> None:
    name, completions, programs = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LAGWATCH_")}
    with tempfile.TemporaryDirectory() as home:
        (pathlib.Path(home) / "only-file.lwtrace").touch()
        (pathlib.Path(home) / "only-program").touch(0o755)
        environment.update(PATH=f"{programs}:{os.environ['PATH']}", HOME=home, XDG_STATE_HOME=f"{home}/state",
                           TERM="xterm", LANG="C.UTF-8")
        subprocess.run(["lagwatch", "run", "--threshold-ms", "300", "--", "python3", "-c",
                        "import select, time\nfor i in range(5): select.select([], [], [], 0.02)\n"
                        "time.sleep(1)\nselect.select([], [], [], 0.02)"], env=environment, check=True)
        reports = json.loads(subprocess.check_output(["lagwatch", "reports", "--json"], env=environment))
        assert reports
        report_id = reports[0]["id"]
        shell = Shell(name, completions, environment, home)
        expectations = [
            ("lagwatch doct", "doctor"),                                 # a command
            ("lagwatch trace conv", "convert"),                          # of a command
            ("lagwatch run --thresh", "--threshold-ms"),                 # an option
            ("lagwatch run --children e", "exec"),                       # a value
            ("lagwatch run --children=al", "all"),
            ("lagwatch report " + report_id[:-4], report_id),             # a report of the spool
            ("lagwatch dump " + str(os.getpid())[:-1], str(os.getpid())),  # a process
            ("lagwatch trace show only-f", "only-file.lwtrace"),           # a file
            ("lagwatch run -- python3 only-f", "only-file.lwtrace"),       # an argument of a program
            ("lagwatch run -- ./only-p", "./only-program"),
            ("lagwatchd --che", "--check"),
            ("lagwatch-collector --log-format j", "json"),
            ("lagwatch-collector retent", "retention"),
        ]
        for line, wanted in expectations:
            shell.complete(line, wanted)
        assert "--threshold-ms" not in shell.complete("lagwatch reports --", "--spool"), "another command's option"
        shell.close()


if __name__ == "__main__":
    main()
