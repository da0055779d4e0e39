#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the demo found: every freeze is there, as a cause of its own that names the guilty function.

Usage: check_demo.py DIRECTORY, with clusters.json, reports.json and report-ID.json as the command line wrote them.
"""
import json
import pathlib
import sys

EDITOR_CAUSES = ["Index::Lookup", "SaveFile", "ParseOutline"]
# Of the server's own functions those above and below the script's.
REDIS_CHAIN = {"sortCommandGeneric", "evalGenericCommand"}
REDIS_SCRIPT = "main chunk (user_script)"
# A sample may have met redis at reading the list, too.
REDIS_SORT = {"sortCompare", "pqsort", "sortCommandGeneric"}


def main() -> int:
    directory = pathlib.Path(sys.argv[1])
    clusters = json.loads((directory / "clusters.json").read_text())
    reports = [json.loads(path.read_text()) for path in sorted(directory.glob("report-*.json"))]
    problems = []

    keys = set()
    for cause in EDITOR_CAUSES:
        found = [c for c in clusters if "editor" in c["apps"] and c["frames"] and c["frames"][0] == cause]
        if len(found) == 1:
            keys.add(found[0]["key"])
        else:
            problems.append(f"{len(found)} level-1 clusters, not 1, begin with {cause}")
    if not problems and len(keys) != len(EDITOR_CAUSES):
        problems.append("two of the editor's freezes share a cluster")

    redis = [r for r in reports if r["app"] == "redis-server"]
    if not redis:
        problems.append("redis-server was not reported")
    for report in redis:
        names = {frame["function"] for frame in report["expensive_stack"]}
        if not REDIS_CHAIN <= names:
            problems.append(f"redis's stack does not name {', '.join(sorted(REDIS_CHAIN - names))}")
        lines = [frame.get("line") for frame in report["expensive_stack"] if frame["function"] == REDIS_SCRIPT]
        if lines != [1]:
            problems.append(f"redis's stack names the lines {lines} of its script, not its only one")
        cluster = next((c for c in clusters if c["key"] == report["cluster"]["level1"]), None)
        if cluster is None:
            problems.append("redis's report is in no level-1 cluster")
        elif not (set(cluster["frames"]) | {cluster["via"]}) & REDIS_SORT:
            problems.append(f"redis's cluster {cluster['frames']} does not name what sorts")

    for report in reports:
        if not report["ended"]:
            problems.append(f"report {report['id']} has no duration")

    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    if problems:
        return 1
    print(f"demo: all found: {len(clusters)} causes, {len(reports)} reports")
    return 0


if __name__ == "__main__":
    sys.exit(main())
