#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the pages of the manual to the programs: one for each command, rendered without a warning, with its options.

Usage: manual_test.py MANUAL DIRECTORY_OF_PROGRAMS
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def output(*command: str, **more) -> str:
    result = subprocess.run(command, capture_output=True, text=True, **more)
    assert result.returncode == 0, f"{command} exited with {result.returncode}: {result.stderr}"
    assert not result.stderr, f"{command}: {result.stderr}"
    return result.stdout


def commands_in(help_text: str) -> list[str]:
    part = help_text.split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z-]+)", part, re.MULTILINE)


def rendered(page: pathlib.Path) -> str:
    """The page as people see it; each warning of groff's and mandoc's is an error."""
    text = output("groff", "-man", "-Tutf8", "-P-bcou", "-rLL=78n", "-ww", str(page))
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(page)], capture_output=True, text=True)
    assert lint.returncode == 0 and not lint.stdout, lint.stdout + lint.stderr
    return text


def words(text: str) -> str:
    """Without the breaks of lines."""
    return re.sub(r"\s+", " ", text)


def main() -> None:
    manual, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    pages = {path.name: rendered(path) for path in manual.glob("man*/*")}
    for page in pages:
        assert (manual / f"man{page[-1]}" / page).exists(), page

    commands = commands_in(output("lagwatch", "--help"))
    assert len(commands) > 10, commands
    expected = {f"lagwatch-{command}.1" for command in commands if command != "daemon"}
    expected |= {"lagwatch.1", "lagwatchd.8", "lagwatch-collector.8", "lagwatch-watch.toml.5", "lagwatch-environment.7"}
    assert set(pages) == expected, set(pages) ^ expected

    # Each option that the help has is on the page, with its variable.
    for command in commands:
        page = "lagwatchd.8" if command == "daemon" else f"lagwatch-{command}.1"
        helps = output("lagwatch", command, "--help")
        if "Subcommands:" in helps:
            helps += "".join(output("lagwatch", command, each, "--help") for each in commands_in(helps))
        for option in set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", helps, re.MULTILINE)):
            assert option in pages[page], f"{page} does not name {option}"
        for variable in set(re.findall(r"Env:(LAGWATCH_\w+)", helps)):
            assert variable in words(pages[page]), f"{page} does not name {variable}"
            assert variable in pages["lagwatch-environment.7"], variable
    helps = output("lagwatch-collector", "--help")
    for option in set(re.findall(r"^  (--[a-z-]+)", helps, re.MULTILINE)):
        assert option in pages["lagwatch-collector.8"], option
    run = words(pages["lagwatch-run.1"])
    assert "--threshold-ms NUMBER A dispatch longer than this is a hang. From 16 to 3600000. Default: 2000." in run, run
    assert "--children none|exec|all" in run, run

    # References lead to pages.
    for page, text in pages.items():
        for name, section in re.findall(r"(lagwatch[a-z.-]*)\((\d)\)", text.replace("-\n", "-").split("SEE ALSO")[1]):
            assert f"{name}.{section}" in pages, f"{page} refers to {name}({section})"

    # Keys of the rules are keys.
    keys = pages["lagwatch-watch.toml.5"]
    samples = {"most_processes": "5", "bpf": "false", "watch": "false", "quota": "3", "interval_ms": "20",
               "probable": "true"}
    sections = keys.split("KEYS OF THE FILE")[1].split("KEYS OF A RULE")
    above = re.findall(r"^ {7}([a-z_]+)$|^ {7}([a-z_]+) {2}", sections[0], re.MULTILINE)
    within = re.findall(r"^ {7}([a-z_]+)$|^ {7}([a-z_]+) {2}", sections[1].split("OPTIONS")[0], re.MULTILINE)
    options = re.findall(r"^ {7}([a-z_]+)(?: = true\|false)?$", keys.split("\nOPTIONS")[1].split("SEE ALSO")[0], re.MULTILINE)
    assert len(above) == 2 and len(within) == 8 and len(options) > 30, (above, within, options)
    text = "".join(f"{one or other} = {samples[one or other]}\n" for one, other in above)
    text += "[[rule]]\n" + "".join(
        f"{one or other} = {samples.get(one or other, chr(34) + 'main' + chr(34))}\n" for one, other in within)
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "watch.toml"
        rules.write_text(text)
        output("lagwatchd", "--check", "--config", str(rules))
        for option in options:
            rules.write_text(f"{option} = 'nonsense of no kind'\n")
            result = subprocess.run(["lagwatchd", "--check", "--config", rules], capture_output=True, text=True)
            rules.write_text(f"{option} = 1\n")
            second = subprocess.run(["lagwatchd", "--check", "--config", rules], capture_output=True, text=True)
            assert 0 in (result.returncode, second.returncode), f"{option} is no key: {result.stderr}{second.stderr}"

    # The same day, the same bytes.
    environment = dict(os.environ, SOURCE_DATE_EPOCH="86400")
    with tempfile.TemporaryDirectory() as folder:
        output("lagwatch", "help", "--manual", folder, env=environment)
        text = (pathlib.Path(folder) / "man1/lagwatch.1").read_text()
        assert '"1970-01-02"' in text, text[:200]

    # `lagwatch help COMMAND` is the command's own help.
    assert output("lagwatch", "help", "trace", "record") == output("lagwatch", "trace", "record", "--help")
    assert output("lagwatch", "help") == output("lagwatch", "--help")
    assert subprocess.run(["lagwatch", "help", "nothing"], capture_output=True).returncode == 2


if __name__ == "__main__":
    main()
