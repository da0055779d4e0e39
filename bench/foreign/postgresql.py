# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL's regression and isolation tests: a server of the unit's own, with a process for each connection."""
import os
import pathlib
import re
import shutil
import subprocess

import debian_sources
import unit

PACKAGES = ["dpkg-dev", "postgresql-15", "postgresql-server-dev-15"]
INSTALLED = pathlib.Path("/usr/lib/postgresql/15")
PROGRAMS = {  # of each suite of the source
    "regress": ("regress/pg_regress", "parallel_schedule"),
    "isolation": ("isolation/pg_isolation_regress", "isolation_schedule"),
}
OUTCOMES = {"ok": "passed", "FAILED": "failed", "failed": "failed"}


def outcomes(_directory, output, _code):
    lines = re.findall(r"^(?:test)? +(\w\S*) +\.\.\. (ok|FAILED|failed)", output, re.MULTILINE)
    return unit.named((name, OUTCOMES[word]) for name, word in lines)


def functions(source):
    """The directory with the functions in C that the tests call."""
    directory = source.parent / "postgresql-functions"
    if not directory.is_dir():
        directory.mkdir()
        headers = subprocess.run(["pg_config", "--includedir-server"], capture_output=True, text=True, check=False).stdout.strip()
        subprocess.run(["cc", "-shared", "-fPIC", "-I", headers, "-o", directory / "regress.so",
                        source / "src/test/regress/regress.c"], check=False)
        for name in ("autoinc.so", "refint.so"):
            (directory / name).symlink_to(INSTALLED / "lib" / name)
    return directory


class PostgresqlSuite:
    """The server refuses to run as root. Its user cannot read each place where this tree may be."""
    name = "postgresql"

    def units(self):
        tests = INSTALLED / "lib/pgxs/src/test"
        source = tests.is_dir() and shutil.which("pg_config") and shutil.which("cc") and debian_sources.fetched("postgresql-15")
        if not source:
            return
        own_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] if os.getuid() == 0 else []
        for name, (program, schedule) in PROGRAMS.items():
            inputs = source / "src/test" / name
            copy = ["/bin/sh", "-c", f"cp -r {inputs} {functions(source)} {{directory}} && chmod -R a+rX {{directory}} && "
                    "cd {directory}/work && exec \"$@\"", "sh"]
            yield unit.Unit(name, [str(tests / program), "--bindir", str(INSTALLED / "bin"), "--temp-instance", "{directory}/work/instance",
                                   "--inputdir", "{directory}/" + name, "--outputdir", "{directory}/work",
                                   "--dlpath", "{directory}/postgresql-functions", "--max-connections=4",
                                   "--schedule", f"{{directory}}/{name}/{schedule}"],
                            outcomes, [*copy, *own_user], user="postgres" if own_user else "", timeout_s=900)


def suites():
    return (PostgresqlSuite(),)
