#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shares of right answers in docs/detection.md, from rows of bench/harness/outcomes.py: see scripts/confidence.

The figures are committed as bench/confidence.json: for each load, of each word [right where said, said, right where due, due],
and of whatever else a report says [right, due]; and the median of the machine's load meanwhile.
"""
import collections
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = ROOT / "bench/confidence.json"
PAGE = ROOT / "docs/detection.md"
MARKED = re.compile(r"(<!-- confidence -->\n).*?(<!-- end of confidence -->)", re.DOTALL)
OTHERS = {"function": "the function in the cause", "owner": "the thread that is waited for, or that it is a deadlock", "peer": "the process that is waited for, and its function",
          "first_candidate": "a candidate, the first one", "candidate": "a candidate, one of the first two", "duration": "the duration, to 2 %"}


def figures_of(rows):
    words, others = collections.defaultdict(lambda: [0, 0, 0, 0]), collections.defaultdict(lambda: [0, 0])
    for row in rows:
        said, due = row["word"], row["expected"]
        if due:
            words[due][2] += said == due
            words[due][3] += 1
            if said:
                words[said][0] += said == due
                words[said][1] += 1
        for what, is_right in row["right"].items():
            others[what][0] += bool(is_right)
            others[what][1] += 1
    return {"machine": round(statistics.median(row["machine"] for row in rows)), "words": dict(sorted(words.items())), "others": {what: others[what] for what in OTHERS if what in others}}


def share(right, all_of):
    return f"{100 * right / all_of:.1f} % of {all_of}" if all_of else "–"


def table(figures):
    """`figures`: {load: what figures_of() returns}."""
    loads = sorted(figures, key=int)
    heads = [f"{text}, load {load}" for load in loads for text in ("right where said", "said where due")]
    machine = ", ".join(f"{figures[load]['machine']} at load {load}" for load in loads)
    lines = [f"The median of the machine's load, with other programs: {machine}.", "", f"| word | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for word in sorted({word for load in loads for word in figures[load]["words"]}):
        numbers = [figures[load]["words"].get(word, [0] * 4) for load in loads]
        lines.append(f"| `{word}` | {' | '.join(f'{share(*of[:2])} | {share(*of[2:])}' for of in numbers)} |")
    sums = [[sum(column) for column in zip(*figures[load]["words"].values())] for load in loads]
    lines.append(f"| all | {' | '.join(f'{share(*of[:2])} | {share(*of[2:])}' for of in sums)} |")
    lines += ["", f"| what else | {' | '.join(f'right, load {load}' for load in loads)} |", f"|---|{'---|' * len(loads)}"]
    for what, text in OTHERS.items():
        lines.append(f"| {text} | {' | '.join(share(*figures[load]['others'].get(what, [0, 0])) for load in loads)} |")
    return "\n".join(lines) + "\n"


def page_with_table():
    text = PAGE.read_text()
    assert MARKED.search(text), f"{PAGE} has no place for the table"
    return MARKED.sub(lambda found: f"{found[1]}\n{table(json.loads(FIGURES.read_text()))}\n{found[2]}", text)


def main(arguments):
    if arguments[:1] == ["--rows"]:
        rows = [json.loads(line) for name in arguments[1:] for line in pathlib.Path(name).read_text().splitlines()]
        by_load = {str(load): figures_of([row for row in rows if row["load"] == load]) for load in sorted({row["load"] for row in rows})}
        FIGURES.write_text(json.dumps(by_load, indent=1) + "\n")
    if arguments == ["--check"]:
        is_same = page_with_table() == PAGE.read_text()
        if not is_same:
            print(f"{PAGE} differs from {FIGURES}: run scripts/confidence --table", file=sys.stderr)
        return 0 if is_same else 1
    PAGE.write_text(page_with_table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
