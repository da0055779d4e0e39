#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command with a journal of its own, in a mount namespace with an empty /run, and prints the journal's entries
# of lagwatch as JSON afterwards. As root. Exits with 77 if there is no systemd-journald.
# With --busy the journal takes nothing for 4 seconds, and its queue is full; with --late it ends when the command
# begins, and comes back 4 seconds later.
journald=/lib/systemd/systemd-journald
socket=/run/systemd/journal/socket
[ "$(id -u)" = 0 ] && [ -x $journald ] && [ -s /etc/machine-id ] && unshare -m true || exit 77
if [ "$1" != "--inside" ]; then
  exec unshare -m "$0" --inside "$@"
fi
shift

start() {
  rm -f $socket
  $journald >/dev/null 2>&1 &
  journal=$!
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -S $socket ] && return
    sleep 0.1
  done
  kill $journal
  exit 77
}

mount -t tmpfs none /run || exit 77
mkdir -p /run/systemd/journal /run/log/journal
start
case "$1" in
  --busy)
    shift
    kill -STOP $journal
    python3 -c '
import socket, sys
sent = 1
while sent > 0:  # one sender is blocked by its own buffer before the queue is full
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.setblocking(False)
    journal.connect(sys.argv[1])
    sent = 0
    try:
        while True:
            journal.send(b"MESSAGE=filler\n")
            sent += 1
    except BlockingIOError:
        pass' $socket
    (sleep 4; kill -CONT $journal) &
    "$@" >&2
    ;;
  --late)
    shift
    "$@" >&2 &
    command=$!
    sleep 0.5
    kill $journal
    wait $journal
    sleep 4
    start
    wait $command
    ;;
  *)
    "$@" >&2
    ;;
esac
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  journalctl --no-pager -q -o json -t lagwatch | grep -q . && break
  sleep 0.1
done
journalctl --no-pager -q -o json -t lagwatch
kill $journal
wait $journal
