# SPDX-License-Identifier: Apache-2.0
"""The command line and the output of a suite: details go to standard error, and one JSON object is the last line."""
import argparse
import contextlib
import json
import pathlib
import signal
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parser(description, only="", programs="lagwatch"):
    """A suite's parser. `only` describes its option --only; `programs` are those that it takes from --bin."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", type=directory, default=ROOT / "build/release/bin", help=f"the directory of {programs}")
    if only:
        options.add_argument("--only", default="", help=only)
    return options


def measured_at_loads(options):
    """Adds the options of a suite that measures at two loads, and keeps each report's outcome."""
    options.add_argument("--load", type=int, action="append", help="1, or so many processes that compute meanwhile; may be repeated (default: 1 and 20)")
    options.add_argument("--outcomes", help="a file for a row for each report: see scripts/confidence")
    return options


def loads_of(arguments):
    return arguments.load or [1, 20]


def directory(text):
    return pathlib.Path(text).resolve()


def parse(options):
    """The parsed command line of a suite, which ends on SIGTERM as on an error: the programs that it started end with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return options.parse_args()


def progress(*words):
    print(*words, file=sys.stderr, flush=True)


def result(figures, is_good=True):
    """Prints the figures as the last line, and returns the suite's exit code."""
    print(json.dumps(figures), flush=True)
    return 0 if is_good else 1


@contextlib.contextmanager
def work_directory(prefix="lagwatch-bench-"):
    """A temporary directory. A program that is about to end may still write there."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as path:
        yield pathlib.Path(path)


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * part // 100)] if ordered else None
