# SPDX-License-Identifier: Apache-2.0
"""Prints, for many functions of the standard library, the table of lines and what Python itself reads from it.

A line each: the kind of table, the first line, the table in hexadecimal, and "offset:line" pairs (line 0: none).
"""
import argparse, asyncio.base_events, dis, inspect, json.decoder, sys, tokenize, types, typing


def codes(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def lines(code):
    if sys.version_info < (3, 10):
        starts = dict(dis.findlinestarts(code))
        line = code.co_firstlineno
        for offset in range(0, len(code.co_code), 2):
            line = starts.get(offset, line)
            yield offset, line
        return
    for begin, end, line in code.co_lines():
        for offset in range(begin, end, 2):
            yield offset, line or 0


kind = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2
for module in (argparse, asyncio.base_events, inspect, json.decoder, tokenize, typing):
    with open(module.__file__, encoding="utf-8") as source:
        for code in codes(compile(source.read(), module.__file__, "exec")):
            table = code.co_lnotab if kind == 0 else code.co_linetable
            pairs = " ".join(f"{offset}:{line}" for offset, line in lines(code))
            print(kind, code.co_firstlineno, table.hex() or "-", pairs)
