#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/configuration.md and docs/privacy.md to the code: every flag, key, range and field is there. Options come
from their table: see meta.options.

Usage: docs_test.py REPOSITORY
"""
import pathlib
import re
import sys


def table_rows(text: str) -> dict[str, list[str]]:
    """The cells of each row, by the names in its first cell."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 2:
            for name in re.findall(r"`([^`]+)`", cells[0]):
                rows.setdefault(name, []).append(cells)
    return rows


def number(text: str, constants: dict[str, int]) -> int:
    for name, value in constants.items():
        text = text.replace(name, str(value))
    return eval(text.replace("'", ""), {"__builtins__": {}})


def remote_keys(source: str) -> dict[str, tuple[int, int]]:
    table = re.search(r"kNumbers\[\] = \{(.*?)\n\};", source, re.DOTALL).group(1)
    constants = {"UINT32_MAX": 2**32 - 1, "kHourMs": 3_600_000}
    return {name: (number(least, constants), number(most, constants))
            for name, least, most in re.findall(r'\{"(\w+)", &RemoteConfig::\w+, ([^,]+), ([^}]+)\}', table)}


def fields(schema: str) -> set[str]:
    schema = re.sub(r"//[^\n]*", "", schema)
    schema = re.sub(r"enum \w+ \{.*?\}", "", schema, flags=re.DOTALL)
    # The transport of records is not part of their content.
    schema = re.sub(r"message (Batch|Packed\w*|Sealed\w*) \{.*?\n\}", "", schema, flags=re.DOTALL)
    return set(re.findall(r"(\w+) = \d+;", schema))


def main() -> None:
    repository = pathlib.Path(sys.argv[1])
    read = lambda name: (repository / name).read_text()
    configuration, privacy = read("docs/configuration.md"), read("docs/privacy.md")
    rows = table_rows(configuration)

    run = read("tools/run/run_command.cc")
    flags = re.findall(r'add_(?:option|flag)\("(--[\w-]+)"', run) + re.findall(r'envname\("(\w+)"', run)
    assert len(flags) >= 8, flags
    missing = [flag for flag in flags if f"`{flag}`" not in configuration]
    assert not missing, f"docs/configuration.md lacks what `lagwatch run` takes: {missing}"

    keys = remote_keys(read("report/config/remote_config.cc"))
    assert len(keys) >= 10, keys
    for key, (least, most) in keys.items():
        ranges = [cells[2] for cells in rows.get(key, [])]
        assert f"{least} to {most}" in ranges, f"docs/configuration.md: {key} is {least} to {most}, not {ranges}"

    all_fields = fields(read("report/format/lagwatch.proto"))
    assert len(all_fields) > 100, all_fields
    missing = sorted(field for field in all_fields if f"`{field}`" not in privacy)
    assert not missing, f"docs/privacy.md lacks fields of lagwatch.proto: {missing}"

    for page, text in (("configuration", configuration), ("privacy", privacy)):
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            assert (repository / "docs" / link).exists(), f"docs/{page}.md links to {link}, which is not there"


if __name__ == "__main__":
    main()
