# SPDX-License-Identifier: Apache-2.0
"""Names, weights and questions of strangers with a valid project key."""
import base64
import json
import os
import sqlite3
import time

import wire
from attack import Attack, complain, send
from target import ADMIN, HOSTILE_KEY, hammer, question

DAY_MS = 86_400_000
DAY_NS = DAY_MS * 10**6
JSON = {"Content-Type": "application/json"}
KEY_NAME = "given-1"  # of HOSTILE_KEY


def network(number):
    """An address in a network of its own."""
    return 256 * (2 + number)


def invent(collector, complaints, count, networks, field):
    """Reports of invented names, from so many networks, in batches of up to 100."""
    each = -(-count // networks)
    for source in range(networks):
        for begin in range(0, each, 100):
            records = [(wire.REPORT, wire.report(**{field: f"0.{source}.{i}"})) for i in range(begin, min(begin + 100, each))]
            send(collector, records, complaints, network(source))


def is_named(collector, **wanted):
    query = "&".join(f"{name}={value}" for name, value in wanted.items())
    return bool(collector.get(f"/v1/reports?{query}&limit=1"))


def expect_real_version(collector, complaints, first_network, networks):
    """A real release, of which users in several networks report, has its name within some reports."""
    for i in range(networks):
        send(collector, [(wire.REPORT, wire.report(version="3.0", user=f"real{i}"))], complaints, network(first_network + i))
    complain(complaints, is_named(collector, version="3.0"), "the next real release has no name")


def invented_versions(collector, _seconds):
    complaints = []
    invent(collector, complaints, 1100, 1, "version")
    expect_real_version(collector, complaints, 150, 1)
    return complaints


def invented_versions_of_many(collector, _seconds):
    complaints = []
    invent(collector, complaints, 4000, 40, "version")
    expect_real_version(collector, complaints, 150, 5)
    return complaints


def pinned_version(collector, _seconds):
    """An administrator names the next release in advance."""
    complaints = []
    invent(collector, complaints, 4000, 40, "version")
    status, _, body = collector.ask("PUT", "/v1/admin/config", json.dumps({"versions": {"hostile": ["3.0"]}}), headers=JSON)
    complain(complaints, status == 200, f"pinning: {status} {body[:200]!r}")
    expect_real_version(collector, complaints, 3, 1)
    return complaints


def invented_programs(collector, _seconds):
    complaints = []
    invent(collector, complaints, 300, 1, "app")
    send(collector, [(wire.REPORT, wire.report(app="real"))], complaints, network(150))
    complain(complaints, is_named(collector, app="real"), "the next real program has no name")
    return complaints


def invented_loops(collector, _seconds):
    complaints = []
    invent(collector, complaints, 5000, 1, "loop")
    send(collector, [(wire.REPORT, wire.report(loop="real"))], complaints, network(150))
    complain(complaints, is_named(collector, loop="real"), "the next real loop has no name")
    return complaints


def all_traces_of_a_day(collector, _seconds):
    complaints = []
    for _ in range(30):
        collector.post(wire.batch([(wire.TRACE, wire.trace(content=b"no trace")) for _ in range(10)]), source=network(0))
    answer = collector.post(wire.batch([(wire.TRACE, wire.trace(content=b"no trace"))]), source=network(150))
    complain(complaints, "no more traces" not in str(answer), f"another network's trace: {answer}")
    return complaints


def hang_hours(collector):
    return sum(cause["estimated"]["hang_ms"] for cause in collector.get("/v1/clusters?app=hostile&limit=1000")) / 3_600_000


def month_report(collector, _seconds):
    """One report that lasts for a month, and says that it stands for 10,000 users."""
    complaints = []
    id = wire.uuid7()
    send(collector, [(wire.REPORT, wire.report(elapsed_ns=29 * DAY_NS, sample_rate_ppm=100, id=id))], complaints)
    send(collector, [(wire.LAG_END, wire.lag_end(id, 29 * DAY_NS))], complaints)
    hours = hang_hours(collector)
    complain(complaints, hours <= 24.1, f"one report counts for {hours:.0f} hours")
    return complaints


def weighted_ends(collector, _seconds):
    """Short reports that stand for a hundred users each, and then ends of a day."""
    complaints = []
    for number in range(30):
        ids = [wire.uuid7(wire.now_ms() - DAY_MS + 60_000) for _ in range(40)]
        reports = [(wire.REPORT, wire.report(elapsed_ns=10**6, sample_rate_ppm=10_000, user="one", id=id)) for id in ids]
        send(collector, reports, complaints, network(number))
        send(collector, [(wire.LAG_END, wire.lag_end(id, DAY_NS)) for id in ids], complaints, network(number))
    hours = hang_hours(collector)
    complain(complaints, hours <= 124, f"one user counts for {hours:.0f} hours")
    return complaints


def weight_of_another(collector, _seconds):
    """The end of a report that stands for itself, of a hang whose other report stands for many."""
    complaints = []
    for _ in range(40):
        id = wire.uuid7(wire.now_ms() - DAY_MS + 60_000)
        send(collector, [(wire.REPORT, wire.report(elapsed_ns=10**6, user="one", id=id)), (wire.LAG_END, wire.lag_end(id, DAY_NS)),
                         (wire.REPORT, wire.report(elapsed_ns=10**7, ordinal=1, sample_rate_ppm=10_000, user="one", lag_id=id))],
             complaints, network(0))
    hours = hang_hours(collector)
    complain(complaints, hours <= 124, f"one user counts for {hours:.0f} hours")
    return complaints


def stray_ends(collector, _seconds):
    """Long ends of reports that never come, from the network of a program whose hangs are real."""
    complaints = []
    for _ in range(20):
        strays = [(wire.LAG_END, wire.lag_end(wire.uuid7(wire.now_ms() - DAY_MS + 60_000), DAY_NS)) for _ in range(500)]
        collector.post(wire.batch(strays), source=network(0) + 1)
    id = wire.uuid7()
    send(collector, [(wire.REPORT, wire.report(user="honest", id=id)), (wire.LAG_END, wire.lag_end(id, 60 * 10**9))], complaints,
         network(0) + 2)
    seconds = hang_hours(collector) * 3600
    complain(complaints, abs(seconds - 60) < 0.1, f"an honest hang of 60 s behind the same NAT counts for {seconds:.1f} s")
    return complaints


def invented_users(collector, _seconds):
    """A thousand users of one network, each with a long hang and a low rate."""
    complaints = []
    for number in range(10):
        records = [(wire.REPORT, wire.report(elapsed_ns=DAY_NS, sample_rate_ppm=1, user=f"{number}-{i}")) for i in range(100)]
        send(collector, records, complaints, network(0))
    hours = hang_hours(collector)
    complain(complaints, hours <= 241, f"one network counts for {hours:.0f} hours")
    return complaints


def one_busy_user(collector, _seconds):
    """Minutes of hangs without end, each of which stands for a hundred users."""
    complaints = []
    for number in range(30):
        send(collector, [(wire.REPORT, wire.report(elapsed_ns=600 * 10**9, sample_rate_ppm=10_000)) for i in range(50)], complaints,
             network(number))
    hours = hang_hours(collector)
    complain(complaints, hours <= 124, f"one user counts for {hours:.0f} hours")
    return complaints


def count_rows(collector, table):
    with sqlite3.connect(f"file:{collector.data}/collector.db?mode=ro", uri=True) as database:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def orphan_ends(collector, _seconds):
    """Ends of reports that never come."""
    complaints = []

    def step(thread, _number):
        collector.post(wire.batch([(wire.LAG_END, wire.lag_end(wire.uuid7(), 10**9)) for _ in range(2000)]), source=network(thread))
    hammer(3, 8, step)
    rows = count_rows(collector, "early_ends")
    complain(complaints, rows <= 10_000 + 100, f"{rows} ends wait")
    status, _, body = collector.ask("POST", "/v1/admin/deletions", json.dumps({"kind": "key", "subject": KEY_NAME}), headers=JSON)
    complain(complaints, status == 202, f"deletion: {status} {body[:200]!r}")
    end = time.monotonic() + 20
    while time.monotonic() < end and count_rows(collector, "early_ends") > 100:
        time.sleep(0.5)
    left = count_rows(collector, "early_ends")
    complain(complaints, left <= 100, f"{left} ends are left after the deletion of their key")
    return complaints


def is_forced(collector, user, source):
    """Whether the collector forces the uploads of the user, whose program asks with a project key."""
    body = collector.ask("GET", f"/v1/config?app=a&user={user}", key=HOSTILE_KEY, source=source)[2]
    return json.loads(base64.b64decode(json.loads(body)["document"])).get("is_forced", False)


def forced_list(collector, _seconds):
    """Names of users are tried out on the list of those whose reports are all sent."""
    complaints = []
    users = [f"user-{i}" for i in range(400)]
    listed = users[300:]
    status = collector.ask("PUT", "/v1/admin/config", json.dumps({"allowlist": listed}), headers=JSON)[0]
    complain(complaints, status == 200, f"the list: {status}")
    found = [user for user in users if is_forced(collector, user, network(0))]
    complain(complaints, len(found) <= 5, f"{len(found)} of {len(listed)} listed users were found out")
    complain(complaints, is_forced(collector, listed[7], network(1)), "a listed user does not learn of it")
    return complaints


LISTS = ("clusters", "reports", "traces", "usage", "frames", "losses", "missing-symbols", "symbols", "key", "openapi.json",
         "admin/keys", "admin/audit", "admin/jobs", "admin/config", "admin/deletions")


def unknown_parameters(collector, _seconds):
    """A filter that is mistyped, or that another version has: no answer may look as if it held."""
    complaints = []
    for path in LISTS:
        for query in ("distributionn=X", "zzz=1", "App=x", "limit=2&zzz=", "=", "%61pp%00=1"):
            status, _, body = collector.ask("GET", f"/v1/{path}?{query}")
            complain(complaints, status == 400, f"/v1/{path}?{query}: {status}")
    with collector.connect() as connection:  # an answer that is not refused has no end
        connection.sendall(question("/v1/events?zzz=1"))
        complain(complaints, b" 400 " in connection.recv(15), "/v1/events?zzz=1 is answered")
    status, _, body = collector.ask("GET", "/v1/clusters?verison=9")
    complain(complaints, status == 400 and b"version" in body, f"the nearest name: {status} {body[:200]!r}")
    return complaints[:6]


def unknown_fields(collector, _seconds):
    """A right that seems to be narrower than it is."""
    complaints = []
    for method, path, body in (("POST", "keys", {"name": "e", "access": "read", "app": "editor"}),
                               ("POST", "keys", {"name": "e2", "access": "read", "expires": 60}),
                               ("POST", "deletions", {"kind": "user", "subject": "x", "dry_run": True}),
                               ("POST", "allowlist", {"user": "x", "forced": False}),
                               ("POST", "config/rollback", {"version": 1, "dry": True}),
                               ("PUT", "config", {"user_rate": 5}),
                               ("POST", "capture-requests", {"cluster": "ab", "version": "1"})):
        status, _, answer = collector.ask(method, f"/v1/admin/{path}", json.dumps(body), headers=JSON)
        complain(complaints, status == 400, f"{path} {body}: {status} {answer[:100]!r}")
    complain(complaints, len(collector.get("/v1/admin/keys")) == 0, "a key was made")
    return complaints


def many_run_ends(collector, seconds):
    """Ends of runs and losses of causes that nothing else names; all of it is gone with its key."""
    complaints = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        causes = [(1, int.from_bytes(os.urandom(7), "big"), 1, 0) for _ in range(50)]
        collector.post(wire.batch([(wire.LOSSES, wire.losses(causes)) for _ in range(20)]), source=network(0))
    status = collector.ask("GET", "/v1/losses?limit=1000", key=ADMIN)[0]
    complain(complaints, status in (200, 413), f"/v1/losses: {status}")
    return complaints


def attacks():
    return [Attack("invented-versions", invented_versions),
            Attack("invented-versions-of-many", invented_versions_of_many),
            Attack("pinned-version", pinned_version),
            Attack("invented-programs", invented_programs),
            Attack("invented-loops", invented_loops),
            Attack("all-traces-of-a-day", all_traces_of_a_day, flags=("--max-traces-a-day", "160")),
            Attack("month-report", month_report),
            Attack("weighted-ends", weighted_ends),
            Attack("weight-of-another", weight_of_another),
            Attack("stray-ends", stray_ends),
            Attack("invented-users", invented_users),
            Attack("one-busy-user", one_busy_user),
            Attack("orphan-ends", orphan_ends),
            Attack("forced-list", forced_list),
            Attack("unknown-parameters", unknown_parameters),
            Attack("unknown-fields", unknown_fields),
            Attack("losses-of-new-causes", many_run_ends)]
