# SPDX-License-Identifier: Apache-2.0
"""The tests of Perl, Ruby, Tcl and Node from their sources, run by Debian's programs."""
import re
import shutil
import subprocess

import debian_sources
import unit

PACKAGES = ["dpkg-dev", "libtest-simple-perl", "nodejs", "perl", "ruby", "ruby-dev", "tcl8.6"]
PERL_LIBRARIES = ["/usr/share/perl/5.36", "/usr/lib/x86_64-linux-gnu/perl/5.36", "/usr/lib/x86_64-linux-gnu/perl-base"]
RUBY_DIRECTORIES = "ruby socket io fiber monitor openssl zlib stringio json psych digest date drb net etc open3 pathname"
TCL_OUTCOMES = {"PASSED": "passed", "SKIPPED": "skipped", "FAILED": "failed"}


def tcl_outcomes(_directory, output, _code):
    lines = re.findall(r"^(?:\+{4}|={4}) (\S+) .*?(PASSED|SKIPPED|FAILED)", output, re.MULTILINE)
    return unit.named((name, TCL_OUTCOMES[word]) for name, word in lines)


def ruby_outcomes(_directory, output, _code):
    names = re.findall(r"^\[ *\d+/\d+\] (\S+) = ", output, re.MULTILINE)
    others = dict(reversed(row) for row in re.findall(r"^ *\d+\) (Failure|Error|Skipped|Timeout):\s+(\S+?):?(?: \[|$)", output, re.MULTILINE))
    return unit.named((name, others.get(name, "passed").lower()) for name in sorted(names))


class TclSuite:
    name = "tcl"

    def units(self):
        if root := debian_sources.fetched("tcl8.6"):
            for path in sorted((root / "tests").glob("*.test")):
                yield unit.Unit(path.stem, ["/usr/bin/tclsh8.6", str(path), "-verbose", "pass skip"], tcl_outcomes, timeout_s=300)


class RubySuite:
    name = "ruby"
    share = 3

    def units(self):
        root = debian_sources.fetched("ruby3.1")
        if not root:
            return
        paths = [path for name in RUBY_DIRECTORIES.split() for path in sorted((root / "test" / name).glob("test_*.rb"))]
        paths += sorted((root / "test").glob("test_*.rb"))
        for path in [path for path in paths if path.stem != "test_require_lib"]:  # it draws other tests each time
            yield unit.Unit(str(path.relative_to(root / "test"))[:-3],
                            ["/usr/bin/ruby", "test/runner.rb", "-v", "--seed", "1", str(path)], ruby_outcomes,
                            directory=str(root), timeout_s=300)


class NodeSuite:
    """A file is a test. Its first lines may name options of node that it needs."""
    name = "node"
    share = 8

    def units(self):
        root = debian_sources.fetched("nodejs")
        if not root:
            return
        for path in sorted(path for name in ("parallel", "sequential", "async-hooks") for path in (root / "test" / name).glob("test-*.*js")):
            found = re.search(r"^// Flags: (.*)$", path.read_text(errors="replace")[:4000], re.MULTILINE)
            yield unit.Unit(f"{path.parent.name}/{path.name}",
                            ["/usr/bin/node", *(found[1].split() if found else []), str(path)], unit.by_exit_code,
                            environment={"NODE_TEST_DIR": "{directory}/work"}, directory=str(root), timeout_s=60)


def perl_tree(source):
    """A directory as the build of Perl makes it, of the source's tests and the installed libraries."""
    root = source.parent / "perl-tree"
    if not root.is_dir() and shutil.which("perl"):
        (root / "lib").mkdir(parents=True)
        for library in [*PERL_LIBRARIES, str(source / "lib")]:
            subprocess.run(["cp", "-rsn", library + "/.", str(root / "lib")], check=False)
        subprocess.run(["cp", "-rs", str(source / "t"), str(root)], check=False)
        (root / "t" / "perl").symlink_to("/usr/bin/perl")
    return root


class PerlSuite:
    name = "perl"
    share = 3
    DIRECTORIES = "base cmd comp io op opbasic re uni mro lib class".split()

    def units(self):
        source = debian_sources.fetched("perl")
        if not source:
            return
        root = perl_tree(source) / "t"
        for path in sorted(path for name in self.DIRECTORIES for path in (root / name).glob("*.t")):
            name = str(path.relative_to(root))
            yield unit.Unit(name[:-2], ["/usr/bin/perl", name], unit.tap, directory=str(root), timeout_s=300)


def suites():
    return PerlSuite(), RubySuite(), TclSuite(), NodeSuite()
