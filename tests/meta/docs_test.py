#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the documents to the code: every flag of `lagwatch run` is in docs/configuration.md, every field in
docs/privacy.md, every fact of a report in docs/detection.md. Options and remote keys come from their tables: see
meta.schema. Each test that docs/contributing/invariants.md names exists.

Usage: docs_test.py REPOSITORY
"""
import pathlib
import re
import sys


def fields(schema: str) -> set[str]:
    schema = re.sub(r"//[^\n]*", "", schema)
    schema = re.sub(r"enum \w+ \{.*?\}", "", schema, flags=re.DOTALL)
    # The transport of records is not part of their content.
    schema = re.sub(r"message (Batch|Packed\w*|Sealed\w*) \{.*?\n\}", "", schema, flags=re.DOTALL)
    return set(re.findall(r"(\w+) = \d+;", schema))


def check_invariants(repository: pathlib.Path) -> None:
    page = (repository / "docs/contributing/invariants.md").read_text()
    sources = "".join(file.read_text() for pattern in ("*_test.cc", "CMakeLists.txt") for file in (repository / "tests").rglob(pattern))
    tests = set(re.findall(r"TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", sources))
    suites = {suite for suite, _ in tests}
    checks = set(re.findall(r"add_test\(NAME (meta\.\w+)", sources))
    kept_by = re.findall(r"\| ([^|]*) \|$", page, re.MULTILINE)
    names = re.findall(r"`(\w+)\.([\w*]+)`", "\n".join(kept_by))
    assert len(names) >= 40, names
    for suite, test in names:
        is_there = f"{suite}.{test}" in checks or ((suite, test) in tests if test != "*" else suite in suites)
        assert is_there, f"docs/contributing/invariants.md names {suite}.{test}, which is no test"


def check_facts(repository: pathlib.Path) -> None:
    sources = "".join(file.read_text() for folder in ("policies", "sdk", "watchdog") for pattern in ("*.cc", "*.h")
                      for file in (repository / folder).rglob(pattern))
    facts = set(re.findall(r'\bAdd(?:Text|Number|IfKnown)?\(\s*"([a-z_0-9]+)"|Fact\[\] = "(\w+)"', sources))
    facts = {name for names in facts for name in names if name}
    assert len(facts) > 50, facts
    pages = "".join((repository / page).read_text() for page in ("collector/API.md", "docs/detection.md"))
    missing = sorted(name for name in facts if f"`{name}`" not in pages)
    assert not missing, f"docs/detection.md lacks facts of reports: {missing}"


def main() -> None:
    repository = pathlib.Path(sys.argv[1])
    read = lambda name: (repository / name).read_text()
    configuration, privacy = read("docs/configuration.md"), read("docs/privacy.md")

    run = read("tools/run/run_command.cc")
    flags = re.findall(r'add_(?:option|flag)\("(--[\w-]+)"', run) + re.findall(r'envname\("(\w+)"', run)
    assert len(flags) >= 8, flags
    missing = [flag for flag in flags if f"`{flag}`" not in configuration]
    assert not missing, f"docs/configuration.md lacks what `lagwatch run` takes: {missing}"

    all_fields = fields(read("report/format/lagwatch.proto"))
    assert len(all_fields) > 100, all_fields
    missing = sorted(field for field in all_fields if f"`{field}`" not in privacy)
    assert not missing, f"docs/privacy.md lacks fields of lagwatch.proto: {missing}"

    check_invariants(repository)
    check_facts(repository)

    for page, text in (("configuration", configuration), ("privacy", privacy)):
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            assert (repository / "docs" / link).exists(), f"docs/{page}.md links to {link}, which is not there"


if __name__ == "__main__":
    main()
