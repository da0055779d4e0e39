#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the columns of packed batches to the schema: each field of a packed record has one, with the letter of its type.

A field without a column would be carried as an unknown one, larger than it needs to be.

Usage: packed_columns_test.py REPOSITORY
"""
import pathlib
import re
import sys

FIELD = re.compile(r"(repeated )?(\w+) (\w+) = (\d+);")
COLUMN = re.compile(r"(\d+)([tfipsm]?)")


def messages(schema):
    """Name → number → (is repeated, type, name) of the fields."""
    schema = re.sub(r"//[^\n]*", "", schema)
    return {name: {int(number): (bool(repeated), kind, field) for repeated, kind, field, number in FIELD.findall(body)}
            for name, body in re.findall(r"message (\w+) \{(.*?)\n\}", schema, re.DOTALL)}


def letters_of(is_repeated, kind, is_message):
    if is_message:
        return "m" if is_repeated else "s"
    if is_repeated:
        return "p"
    return {"string": "t", "bytes": "ti", "fixed64": "f"}.get(kind, "")


def main():
    repository = pathlib.Path(sys.argv[1])
    schema = messages((repository / "report/format/lagwatch.proto").read_text())
    text = (repository / "report/format/packed/message_spec.cc").read_text()
    lines = dict(re.findall(r"^([\d.]+): (.*)$", text, re.MULTILINE))
    assert len(lines) > 15, lines

    failures = []
    for path, columns in lines.items():
        fields = schema["Batch"]
        for number in map(int, path.split(".")):
            message = fields[number][1]
            fields = schema[message]
        known = {int(number): letter for number, letter in map(lambda word: COLUMN.match(word).groups(),
                                                               filter(lambda word: word[0].isdigit(), columns.split()))}
        for number, (is_repeated, kind, name) in fields.items():
            letters = letters_of(is_repeated, kind, kind in schema)
            if number not in known:
                failures.append(f"{message}.{name} = {number} has no column")
            elif (known[number] or "-") not in (letters or "-"):
                failures.append(f"{message}.{name} = {number} has the letter '{known[number]}', not '{letters}'")
        failures += [f"{message} has no field {number}" for number in known.keys() - fields.keys()]
    assert not failures, "message_spec.cc:\n  " + "\n  ".join(failures)


if __name__ == "__main__":
    main()
