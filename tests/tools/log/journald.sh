#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command with a journal of its own, in a mount namespace with an empty /run, and prints the journal's entries
# of lagwatch as JSON afterwards. As root. Exits with 77 if there is no systemd-journald.
journald=/lib/systemd/systemd-journald
[ "$(id -u)" = 0 ] && [ -x $journald ] && [ -s /etc/machine-id ] && unshare -m true || exit 77
if [ "$1" != "--inside" ]; then
  exec unshare -m "$0" --inside "$@"
fi
shift
mount -t tmpfs none /run || exit 77
mkdir -p /run/systemd/journal /run/log/journal
$journald >/dev/null 2>&1 &
journal=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ -S /run/systemd/journal/socket ] && break
  sleep 0.1
done
[ -S /run/systemd/journal/socket ] || { kill $journal; exit 77; }
"$@" >&2
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  journalctl --no-pager -q -o json -t lagwatch | grep -q . && break
  sleep 0.1
done
journalctl --no-pager -q -o json -t lagwatch
kill $journal
wait $journal
