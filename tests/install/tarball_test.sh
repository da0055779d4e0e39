#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Uses the relocatable archive, without an installation.
#
#   tarball_test.sh FOLDER [ROOT]
#     FOLDER  the unpacked archive; in ROOT, if it is given
#     ROOT    the root directory of another system, which has at least sh and perl (needs root's rights)
set -eu
if [ $# -eq 2 ]; then
  mkdir -p "$2/tmp"
  cp "$0" "$2/tmp/tarball_test.sh"
  # Processes that are left end with their namespace.
  exec unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$1" /bin/sh /tmp/tarball_test.sh "$2"' sh "$2" "$1"
fi
folder=$1
work=$(mktemp -d)
started=
clean_up() {
  for pid in $started; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap clean_up EXIT
export HOME="$work"

fail() {
  echo "tarball_test: $*" >&2
  exit 1
}

# until COMMAND…: waits for its success.
until_true() {
  tries=300
  until "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "this never came: $*"
    sleep 0.1
  done
}
# says TEXT COMMAND…
says() {
  text=$1
  shift
  "$@" 2>&1 | grep -q -e "$text"
}

cat >"$work/loop.pl" <<'PERL'
# A loop that computes for a second in its thirtieth turn; with an argument, in each thirtieth, for a minute.
my $turns = @ARGV ? 100000 : 40;
sub freeze { my $end = time + 2; 1 while time < $end; }
for my $turn (1 .. $turns) {
  select(undef, undef, undef, 0.02);
  freeze() if $turn % 30 == 0;
}
PERL

# The function of the script, or of a Perl whose scripts lagwatch cannot read.
frozen='freeze (loop.pl\|Perl_'

cd "$folder"
for program in lagwatch lagwatchd lagwatch-collector; do
  says "^$program [0-9]" "./$program" --version || fail "$program --version printed $("./$program" --version 2>&1)"
done

./lagwatch run --threshold-ms 200 --spool "$work/run" -- perl "$work/loop.pl"
says "$frozen" ./lagwatch reports --spool "$work/run" || fail "run: $(./lagwatch reports --spool "$work/run" 2>&1)"
./lagwatch run --quiet --spool "$work/run" -- sh -c 'exit 7' && fail "run has lost the exit status"

# From outside; a frame of a C library needs the symbols of its file, which a process of its own reads.
perl "$work/loop.pl" again &
perl=$!
started="$started $perl"
./lagwatch watch --threshold-ms 200 --spool "$work/watch" "$perl" 2>"$work/watch.log" &
watch=$!
started="$started $watch"
until_true says "$frozen" ./lagwatch reports --spool "$work/watch"
# A program has one tracer at a time.
kill "$watch"
wait "$watch" || true
if ./lagwatch attach --threshold-ms 200 --spool "$work/attach" "$perl" 2>"$work/attach.log"; then
  until_true says "$frozen" ./lagwatch reports --spool "$work/attach"
else
  grep -q '2.34 or later\|ptrace_scope' "$work/attach.log" || fail "attach: $(cat "$work/attach.log")"
fi

# The process that sends a program's reports is one of these programs, too.
./lagwatch-collector --listen 127.0.0.1:0 --data "$work/data" >"$work/collector.out" 2>"$work/collector.log" &
started="$started $!"
until_true grep 'listening on' "$work/collector.out"
endpoint=$(sed -n 's/.*listening on //p' "$work/collector.out")
./lagwatch run --threshold-ms 200 --spool "$work/sent" --endpoint "$endpoint" --key "$(cat "$work/data/key")" \
  -- perl "$work/loop.pl"
LAGWATCH_ENDPOINT=$endpoint LAGWATCH_TOKEN=$(cat "$work/data/admin-token")
export LAGWATCH_ENDPOINT LAGWATCH_TOKEN
until_true says "$frozen" ./lagwatch clusters
echo "tarball_test: works with $(/lib/x86_64-linux-gnu/libc.so.6 | head -1)"
