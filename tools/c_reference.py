#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the C API as Markdown to stdout, from the comments of its headers.

Exits 1 and names the functions and types that have no comment.

Usage: c_reference.py [FOLDER OF c.h, c_types.h AND c_options.h]
"""
import pathlib
import re
import sys

# A comment at the begin of a line, what follows it up to the next one, and an inline function's body.
COMMENT = re.compile(r"^/\*(.*?)\*/\n", re.DOTALL | re.MULTILINE)
BODY = re.compile(r" LW_NOEXCEPT \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"\b(lw_\w+)\(")
TYPE = re.compile(r"^(?:\} (\w+);|typedef (?:enum|struct) (\w+) \{.*\} \w+;|typedef .*\(\*(\w+)\).*;)$", re.MULTILINE)


def sections(header: str) -> list[tuple[str, str]]:
    """Each comment with the declarations that follow it."""
    header = BODY.sub(" LW_NOEXCEPT;\n", header)
    parts = COMMENT.split(header)[1:]
    return [(comment, code.strip("\n")) for comment, code in zip(parts[::2], parts[1::2])]


def prose(comment: str) -> str:
    lines = (re.sub(r"^ ?\*( |$)", "", line).strip() for line in comment.strip().splitlines())
    text = "\n".join(lines)
    return re.sub(r"(?<![`\w])(lw_\w+\(\)|LW_[A-Z_]+\b)", r"`\1`", text)


def entry(names: list[str], comment: str, code: str) -> str:
    title = f"### {', '.join(f'`{name}`' for name in names)}\n\n" if names else ""
    code = re.sub(r"\bLW_API |static inline | LW_NOEXCEPT", "", code)
    return f"{title}{prose(comment)}\n\n" + (f"```c\n{code}\n```\n\n" if code else "")


def functions(header: str) -> tuple[str, list[str]]:
    """The page's part, and the functions that follow a blank line instead of a comment."""
    text, bare = "", []
    body = header[header.index("#define LW_NOEXCEPT\n#endif\n"):header.rindex("#ifdef __cplusplus")]
    for comment, code in sections(body):
        undescribed = [block for block in code.split("\n\n")[1:] if block.lstrip().startswith("LW_API")]
        bare += FUNCTION.findall("\n".join(undescribed))
        declarations = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
        names = re.findall(r"\b(lw_\w+)\([^;]*;", declarations)
        text += entry(names, comment, code)
    return text, bare + FUNCTION.findall(body[:COMMENT.search(body).start()])


def types(header: str) -> tuple[str, list[str]]:
    text, bare = "", []
    body = header[header.index('extern "C" {\n#endif\n'):header.rindex("#ifdef __cplusplus")]
    for comment, code in sections(body):
        names = ["".join(found) for found in TYPE.findall(code)]
        if not names:
            bare.append(code.splitlines()[0] if code else comment)
        text += entry(names, comment, code)
    return text, bare


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "sdk/include/lagwatch")
    read = lambda name: (folder / name).read_text(encoding="utf-8")
    calls, bare_calls = functions(read("c.h"))
    kinds, bare_kinds = types(read("c_types.h"))
    options = re.search(r"^typedef struct lw_options \{.*?^\} lw_options;", read("c_options.h"), re.DOTALL | re.MULTILINE)
    rules = prose(re.search(r"/\* lagwatch's C interface.*?\n \*\n(.*?)\*/", read("c.h"), re.DOTALL).group(1))
    if bare_calls or bare_kinds:
        print(f"no comment describes: {', '.join(bare_calls + bare_kinds)}", file=sys.stderr)
        return 1
    print("# C API\n\n" + rules.replace(":\n-", ":\n\n-") + "\n\n## Functions\n\n" + calls + "## Types\n\n" + kinds +
          "## Options\n\n[Configuration](../docs/configuration.md) has them as a table.\n\n```c\n" + options.group(0) + "\n```")
    return 0


if __name__ == "__main__":
    sys.exit(main())
