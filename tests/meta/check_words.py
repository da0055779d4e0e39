#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the words of comments, docstrings, messages and documents against a list of what the house does not use.

Prints "file:line: 'words': the replacement" for each finding and exits 1; exits 0 without findings. Text in quotation
marks or backquotes, code blocks of Markdown and identifiers are not checked, nor are messages of tests and benches.
"""

import argparse
import pathlib
import re
import sys

FOLDERS = ("build", "node_modules", "dist", "corpus", "goldens")
FILES = ("package-lock.json", "openapi.d.ts")

# The nouns that "who" may follow.
PEOPLE = ("user", "users", "people", "person", "reader", "readers", "admin", "admins", "operator", "operators", "engineers",
          "developers")

# Texts of which one must occur before the pattern is tried; the pattern, whose spaces also match line ends; and the
# replacement that the message names.
WORDS = [
    ("tell told", r"tell|tells|told|telling", "report, return, record, show, say"),
    ("body", r"nobody|somebody|anybody|everybody", "name it: no thread, another process, each user"),
    ("one", r"someone|anyone|everyone", "name it: a thread, any process, each user"),
    ("ever", r"whoever|whomever|whosoever", "name it: the caller, the thread, the process"),
    ("whom", r"whom", "which, or name it: the thread that"),
    ("who", "".join(f"(?<!{noun} )" for noun in PEOPLE) + "who",
     "that, or name it: the caller, the thread; only people are 'who'"),
    ("but", r"(?<!not )but for(?! (?:a|an|the) (?:moment|while))", "except, without"),
    ("had", r"(?:(?:to|can|could|may) be|is|are|be|was|were) had", "available"),
    ("none", r"(?:that|which|it) (?:is|are|was|were) none", "invalid, or: that is not one"),
    ("self selves", r"look(?:s|ed|ing)? at (?:itself|themselves)", "captures its own stack"),
    ("want", r"want of", "lack of"),
    ("it", r"be it", "either, even if"),
    ("good", r"as good as", "treated as, equal to"),
    ("say", r"(?<=,) say(?=[,.;:)])", "for example"),
    ("vain", r"in vain", "without effect, unsuccessfully"),
    ("anew", r"anew", "again"),
    ("same", r"all the same", "nevertheless, still"),
    ("lest save there hence hither", r"lest|save for|thereof|therein|whence|thence|hitherto|henceforth",
     "so that … not, except, of it, from where"),
    ("like", r"and (?:its|their) likes?", "and similar ones"),
    ("lag", r"(?<!, )(?:lag|lags|lagged|lagging)(?! Int64)", "hang, which is the word of the C API and the page"),
    ("shel desk wish", r"shelf|shelves|desks?|wish|wishes", "no metaphors: cache, table, slots, request"),
]  # fmt: skip
OPENING = (r"What|How|Where|Who|Whose|Whom|Why|Which", "open with a noun or a verb: 'Decides …', 'Number of …'")
SENTENCE = (r"What|How|Who|Whose|Whoever|Whom", "begin the sentence with its subject")

# Not within an identifier, a call, a path or an address.
BEFORE, AFTER = r"(?<![\w:./$-])(?<!<)", r"(?![\w(/$]|::|-\w|\.\w)"


def compiled(words):
    # A look-behind has a fixed width: the spaces in it stay spaces.
    parts = re.split(r"(\(\?<[!=][^)]*\))", words)
    return BEFORE + "(?:" + "".join(p if p.startswith("(?<") else p.replace(" ", r"\s+") for p in parts) + ")" + AFTER


UNWANTED = [(triggers.split(), re.compile(compiled(words), re.IGNORECASE), instead) for triggers, words, instead in WORDS]
OPENING = (re.compile(rf"(?:{OPENING[0]})\b(?![(:.]|\w)"), OPENING[1])
SENTENCE = (re.compile(rf"(?<=[.!?:;])\s+({SENTENCE[0]})\b(?![(:.])"), SENTENCE[1])
# A text without any of these has no findings.
TRIGGERS = sorted({trigger for triggers, _, _ in UNWANTED for trigger in triggers} | {"what", "how", "where", "why", "which"})


def may_have_findings(text):
    text = text.lower()
    return any(trigger in text for trigger in TRIGGERS)


C_TOKENS = re.compile(
    r"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<skip>R\"(?P<d>[^(\s]*)\(.*?\)(?P=d)\"|'(?:\\[^\n]{1,5}|[^'\\\n])'|"
    r"\#\s*include[^\n]*)|(?P<string>\"(?:\\.|[^\"\\\n])*\"(?:\s*\"(?:\\.|[^\"\\\n])*\")*)",
    re.DOTALL,
)
SCRIPT_TOKENS = re.compile(
    r"(?P<line>(?<![:\w\"'`/\\])//[^\n]*)|(?P<block>/\*.*?\*/)|"
    r"(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?<=>)(?P<jsx>[^<>{};=()]+)(?=[<{])",
    re.DOTALL,
)
PYTHON_TOKENS = re.compile(
    r"(?P<block>^[ \t]*\"\"\".*?\"\"\")|(?P<skip>\"\"\".*?\"\"\"|'''.*?''')|(?P<line>\#[^\n]*)|"
    r"(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    re.DOTALL | re.MULTILINE,
)
SHELL_TOKENS = re.compile(r"(?P<line>(?:^|(?<=\s))\#[^\n]*)|(?P<string>\"(?:\\.|[^\"\\])*\")", re.MULTILINE)
UNIT_TOKENS = re.compile(r"(?P<line>^[#;][^\n]*)", re.MULTILINE)
JSON_TOKENS = re.compile(r"\"(?:description|summary)\": \"(?P<block>(?:\\.|[^\"\\\n])*)\"")
LEADER = re.compile(r"^[ \t]*(?:///?!?<?|\#+!?|/\*+|\*(?!/)|\"\"\")?[ \t]?", re.MULTILINE)
QUOTED = re.compile(r"\"[^\"]*\"|`[^`]*`|“[^”]*”|(?<![\w'])'[^'\n]*'(?!\w)")
LICENCE = re.compile(r"\W*SPDX-")
NEXT_LINE = re.compile(r"[ \t]*\n[ \t]*")
FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```|^(?: {4}|\t)[^\n]*$|^\s*<!--.*?-->", re.DOTALL | re.MULTILINE)
MARKDOWN_OPENING = re.compile(r"^[ \t]*(?:[-*>]|\d+\.|#+)[ \t]+|\|[ \t]+|\A|\n[ \t]*\n", re.MULTILINE)

TOKENS = {
    ".h": C_TOKENS, ".cc": C_TOKENS, ".c": C_TOKENS, ".cpp": C_TOKENS, ".def": C_TOKENS, ".S": C_TOKENS, ".proto": C_TOKENS,
    ".java": C_TOKENS, ".m": C_TOKENS, ".swift": C_TOKENS,
    ".ts": SCRIPT_TOKENS, ".tsx": SCRIPT_TOKENS, ".mjs": SCRIPT_TOKENS, ".css": SCRIPT_TOKENS,
    ".py": PYTHON_TOKENS, ".sh": SHELL_TOKENS, ".cmake": SHELL_TOKENS, ".map": SHELL_TOKENS, ".yml": SHELL_TOKENS,
    ".service": UNIT_TOKENS, ".md": None,
}  # fmt: skip


def blanked(text, what):
    """`text` with what matches replaced by as many characters, so that positions stay."""
    return what.sub(lambda m: re.sub(r"[^\n]", "·", m.group()), text)


def comment_text(text):
    """A comment without its leaders and without what it quotes; positions stay."""
    return blanked(LEADER.sub(lambda m: " " * len(m.group()), text), QUOTED)


class Checker:
    def __init__(self, path):
        self.path = path
        self.findings = []
        self.source = ""

    def add(self, at, match, instead):
        line = self.source.count("\n", 0, at) + 1
        words = " ".join(re.sub(r"\n[ \t]*(?://|#|\*)?", " ", match).split())
        self.findings.append(f"{self.path}:{line}: '{words}': {instead}")

    def check_words(self, at, text):
        lower = text.lower()
        for triggers, unwanted, instead in UNWANTED:
            if any(trigger in lower for trigger in triggers):
                for match in unwanted.finditer(text):
                    self.add(at + match.start(), match.group(), instead)

    def check_comment(self, at, raw):
        if not may_have_findings(raw):
            return
        text = comment_text(raw)
        opening = OPENING[0].match(text, len(text) - len(text.lstrip()))
        if opening:
            self.add(at + opening.start(), opening.group(), OPENING[1])
        for match in SENTENCE[0].finditer(text):
            self.add(at + match.start(1), match.group(1), SENTENCE[1])
        self.check_words(at, text)

    def check_markdown(self):
        text = blanked(blanked(self.source, FENCED), QUOTED)
        for match in MARKDOWN_OPENING.finditer(text):
            opening = OPENING[0].match(text, match.end())
            if opening:
                self.add(opening.start(), opening.group(), OPENING[1])
        for match in SENTENCE[0].finditer(text):
            self.add(match.start(1), match.group(1), SENTENCE[1])
        self.check_words(0, text)

    def check_source(self, tokens, messages):
        begin, end, own_line = None, None, False  # the comment that consecutive lines make
        source = self.source
        for token in tokens.finditer(source):
            kind = token.lastgroup if token.lastgroup != "d" else "skip"
            if kind == "line" and (LICENCE.match(token.group()) or token.group().startswith("#!")):
                continue
            if kind == "line":
                alone = not source[source.rfind("\n", 0, token.start()) + 1 : token.start()].strip()
                if begin is not None and alone and own_line and NEXT_LINE.fullmatch(source, end, token.start()):
                    end = token.end()
                    continue
                if begin is not None:
                    self.check_comment(begin, source[begin:end])
                begin, end, own_line = token.start(), token.end(), alone
            elif kind == "block":
                self.check_comment(token.start(kind), token.group(kind))
            elif kind in ("string", "jsx") and messages and " " in token.group():
                text = token.group()
                text = blanked(re.sub(r"^([\"'`])(.*)\1$", r" \2 ", text, flags=re.DOTALL).replace('\\"', "''"), QUOTED)
                self.check_words(token.start(), text)
        if begin is not None:
            self.check_comment(begin, source[begin:end])

    def check(self, file, tokens):
        self.source = file.read_text(encoding="utf-8", errors="replace")
        if not may_have_findings(self.source):
            return
        if tokens is None:
            self.check_markdown()
        else:
            self.check_source(tokens, not self.path.startswith(("bench/", "tests/")))


def tokens_of(file):
    if file.name == "CMakeLists.txt":
        return SHELL_TOKENS
    if file.name == "openapi.json":
        return JSON_TOKENS
    suffix = file.suffixes[-2] if file.suffix == ".in" and len(file.suffixes) > 1 else file.suffix
    if suffix in TOKENS:
        return TOKENS[suffix]
    if not file.suffix and file.parent.name in ("scripts", ".ci"):
        return SHELL_TOKENS
    return False


def files_of(root, paths):
    for path in paths:
        entry = root / path
        if entry.is_dir():
            yield from files_of(root, sorted(entry.relative_to(root) / child.name for child in entry.iterdir()
                                             if child.name not in FOLDERS and not child.name.startswith(".")))
        elif entry.is_file() and entry.name not in FILES and tokens_of(entry) is not False:
            yield entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("paths", nargs="*", help="files or folders under the root; without any, all")
    options = parser.parse_args()
    paths = options.paths or ["."]
    findings = []
    for file in files_of(options.root, paths):
        path = file.relative_to(options.root).as_posix()
        checker = Checker(path)
        checker.check(file, tokens_of(file))
        findings += sorted(set(checker.findings), key=lambda finding: int(finding.split(":")[1]))
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
