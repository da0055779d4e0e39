# SPDX-License-Identifier: Apache-2.0
# Written by lagwatch-schema from policies/options/options.def.
from typing import TypedDict

class Options(TypedDict, total=False):
    """The options of start(). Values outside of their range are clamped to it."""

    app: str
    """The program's name in reports. Default: the program's file name."""

    app_version: str
    """The program's version. Default: empty."""

    endpoint: str
    """The collector's URL, or sentry: and a DSN. file:///directory receives one file per batch; a Sentry
    project receives one event per hang. Default: empty: reports stay on disk; http://, https://, file:///,
    sentry:."""

    key: str
    """The collector's key for this project. Default: empty; no blanks."""

    user: str
    """The affected user, as a pseudonym. Default: empty."""

    spool_directory: str
    """The spool directory, where reports wait. It is created if it does not exist. All programs of the
    user share the default: one with an endpoint also sends the reports of the others, see docs/privacy.md.
    The monitor stays off if the directory is a symbolic link, belongs to another user or is writable by
    others. Default: lagwatch/spool in $XDG_STATE_HOME or ~/.local/state; without a home directory
    /tmp/lagwatch-UID."""

    threshold_ms: int
    """A dispatch longer than this is a hang. Default: 2000; 16 to 3600000."""

    anr_threshold_ms: int
    """A hang longer than this is an ANR. Default: 5000; 16 to 3600000; 0: off."""

    idle_handler_threshold_ms: int
    """A longer idle handler is reported. Default: 2000; 16 to 3600000."""

    input_threshold_ms: int
    """A longer input event is reported. Default: 2000; 16 to 3600000."""

    slow_frame_ms: int
    """A longer frame is reported. Default: 120; 16 to 3600000; 0: off."""

    sensitive_ms: int
    """A longer dispatch is passed to the listener. Default: 250; 16 to 3600000; 0: never."""

    check_period_ms: int
    """Time between two checks of one hang, before they become rarer. Default: 1000; 1 to 3600000."""

    sample_interval_ms: int
    """Time between two samples of a busy loop's stack. Default: 50; 1 to 3600000."""

    ring_size: int
    """Number of samples per check. Default: 20; 1 to 100."""

    expensive: int
    """The sample that represents a busy loop: path (the newest on the heaviest path from the outermost
    call inwards) or leaf (of the innermost function seen most often). Default: LW_EXPENSIVE_PATH; an
    lw_expensive."""

    usage_period_s: int
    """Time between two records of the loops' usage. Default: 3600; 60 to 86400; 0: never."""

    slow_reports: bool
    """Reports slow dispatches, too, with a tree of the calls that took their time. The report's kind is
    slow, its tree made of recorded calls (lw_trace_begin(), instrumented functions) and of samples; see
    docs/detection.md. At most one per dump_interval_ms. Records as trace does, with its interval, buffer
    and hooks, even if trace is off."""

    slow_dispatch_ms: int
    """A dispatch longer than this is slow. It is listed in the history with its CPU time. Default: 700; 1
    to 3600000."""

    start: int
    """Selects whether the program's start is watched. Default: LW_START_UNWATCHED; an lw_start_kind."""

    cold_start_ms: int
    """A longer cold start is reported. Default: 10000; 16 to 3600000."""

    warm_start_ms: int
    """A longer warm start is reported. Default: 4000; 16 to 3600000."""

    watch_cpu: bool
    """Reports excessive CPU use."""

    cpu_percent: int
    """Limit for one second. Default: 80; 1 to 100; 0: off."""

    cpu_average_percent: int
    """Limit for the average over a window in the foreground. Default: 80; 1 to 100; 0: off."""

    cpu_background_percent: int
    """Limit for the average over a window in the background. Default: 20; 1 to 100; 0: off."""

    cpu_window_ms: int
    """Length of the window. Default: 60000; 1000 to 3600000."""

    trace: bool
    """Records the stacks of all threads continuously, in a ring, and attaches a trace to each report of a
    hang. Reports of CPU use, slow frames and dumps have one, too; lw_trace_now() requests one without a
    report. See docs/tracing.md."""

    trace_interval_ms: int
    """Time between two samples of a running thread. Default: 10; 1 to 100."""

    trace_hooks: bool
    """Also captures stacks inside hooked calls (malloc, locks, I/O). The import tables of all modules are
    rewritten for it: see docs/design/trace_hooks.md."""

    trace_before_s: int
    """Length of a trace before the hang. Default: 10; 0 to 600."""

    trace_slow_ms: int
    """A dispatch longer than this gets a trace, even if it is no hang. At most one per dump_interval_ms.
    Default: 0; 16 to 3600000; 0: off."""

    trace_buffer_kib: int
    """Memory for the recording. Half is for distinct stacks, a quarter for the main thread's samples, an
    eighth for those of the other threads, an eighth for calls; the oldest is overwritten. Default: 8192;
    1024 to 262144."""

    trace_max_kib: int
    """A larger trace is shortened at its begin. Default: 256; 4 to 900."""

    trace_patch: str
    """Modules whose function calls are recorded, too, if they were built with -fpatchable-function-entry.
    Their code is patched while the program runs: see docs/design/trace_instrument.md. Calls of functions
    built with -finstrument-functions, and parts named by lw_trace_begin(), are recorded in any case.
    Default: empty; file names or patterns (*, ?), separated by commas."""

    dump_signal: int
    """A signal (such as USR2) that requests a dump. The program's own handler for it is called, too;
    without one, the signal has no other effect. SIGKILL, SIGSTOP and signals that a program must not
    continue after (SIGSEGV and similar ones) are treated as 0. Default: 0: none; a signal."""

    dump_interval_ms: int
    """Shortest time between two dumps. Default: 10000; 0 to 3600000."""

    user_rate_ppm: int
    """Fraction of users who send reports on a given day, in parts per million. Default: 50000; 0 to
    1000000; 1000000: all."""

    reports_per_day: int
    """Reports to send per user and day. The last ones are reserved for important reports. Default: 20;
    from 0; 4294967295: all."""

    reports_per_cause: int
    """Of these, reports to send per cause. Default: 3; from 0; 4294967295: all."""

    slow_reports_per_day: int
    """Reports of slow dispatches to send per user and day. At most 2 are of one cause; they do not count
    for reports_per_day. Default: 5; from 0; 4294967295: all."""

    traces_per_day: int
    """Traces to send per user and day. Each is sent with its report; at most 2 are of one cause, and at
    most 4 MiB in total. Default: 5; from 0; 4294967295: all."""

    unmetered_only: bool
    """Sends nothing on a metered network. lw_set_network() sets which one the program is on."""

    ca_file: str
    """Certificates, one of which must have signed the server's. Default: empty: the system's store; a PEM
    file."""

    proxy: str
    """The proxy's URL. Default: empty: from the environment (https_proxy, no_proxy, …);
    http://host:port."""

    config_key: str
    """The public key that signs the collector's config: lagwatch-collector --print-public-key. If it is
    invalid, nothing is sent. The config is fetched from an http:// or https:// endpoint only. Default:
    empty: no remote config; 64 hexadecimal digits."""

    consent: int
    """The user's consent, without which nothing is watched, kept or sent. lw_set_consent() changes it at
    any time. Default: LW_CONSENT_GIVEN; an lw_consent."""

    scrub_tags: str
    """Patterns of text to remove from tags, thread names and other texts before they are written. One per
    line, in addition to the built-in ones (docs/privacy.md); '*' matches any run without blanks, '?' any
    byte. Default: empty; 8 lines of 63 bytes."""

    seal_key: str
    """The key that reports are sealed with: lagwatch-collector --print-seal-key. Only that collector can
    then read what is written and sent; see docs/design/sealing.md. If it is invalid, the monitor stays off
    and nothing is written. Default: empty: nothing is sealed; 64 hexadecimal digits."""

    capture_signal: int
    """The signal that captures stacks. If the program replaces its handler later, lagwatch uses another
    signal. Default: 0: an unused one; a real-time signal."""

    spool_sync: int
    """Selects the records that are synced to disk at once: see docs/spool_format.md. Default:
    LW_SPOOL_SYNC_HANGS; an lw_spool_sync."""

    feed_systemd: bool
    """Notifies systemd's watchdog while no loop hangs, in place of the program. "WATCHDOG=1" is sent twice
    in the unit's WatchdogSec=, which should be well above the thresholds: systemd restarts a program that
    stays frozen for so long, also after lw_stop(), or when the spool's disk hangs. Uses NOTIFY_SOCKET,
    WATCHDOG_USEC and WATCHDOG_PID of the environment; without them nothing is sent, and an idle program is
    never woken for it."""

    seccomp_allows_lagwatch: bool
    """The program's seccomp filters, now and later, allow lagwatch's system calls. docs/configuration.md
    lists them. Otherwise lw_start() leaves the monitor off in a confined program, except where the first
    process of the pid namespace has as many filters, as in a container; and a program that confines itself
    must call lw_stop() first."""

    hide_peers: bool
    """Leaves out the names, threads and stacks of other processes that a thread waits for, the names of
    those that use the processors, and the servers of file systems. Their process ids stay. Those of other
    users are always left out: see docs/design/peers.md."""

    user_proof: str
    """The user's proof for the allowlist, sent with the request for the config. Default: empty; 32
    hexadecimal digits."""

    io_watch_ms: int
    """A dispatch that spends longer than this in calls that use files makes a report of kind io: opens,
    reads, writes, syncs, look-ups, locks and name lookups. The import tables of all modules are rewritten
    for it; see docs/detection.md. Default: 0; 1 to 3600000; 0: off."""

    io_watch_calls: int
    """So many calls that name a file's path in one dispatch make a report, too, however short they are;
    with io_watch_ms only. Default: 1000; 1 to 1000000; 0: any number."""

    usage_keys: str
    """Keys of lw_set_value(), with commas between them, by whose values the hang rate is counted: an
    experiment, a kind of document. scene is that of lw_set_scene(). A run has 32 values of each key; later
    ones count as (others). See docs/analysis.md. Default: empty; 4 keys of 32 bytes."""

    trace_rules: str
    """The rules of the functions that trace_patch records. If the file cannot be read, or has a mistake,
    nothing is patched. Default: empty: instrument.rules beside the program; a file's path."""
