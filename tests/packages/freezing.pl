#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A service with a loop that freezes for a second, again and again: freezing.pl [notify|watchdog|forking PIDFILE|once]
# With `watchdog` it is late for systemd after a few notifications.
use strict;
use warnings;
use Socket;

my ($kind, $pid_file) = (@ARGV, '');
if ($kind eq 'forking') {
  exit 0 if fork;
  open(my $file, '>', $pid_file) or die "$pid_file: $!";
  print $file "$$\n";
  close $file;
}
my $address = $ENV{NOTIFY_SOCKET};
sub notify {
  my ($text) = @_;
  return unless defined $address;
  (my $name = $address) =~ s/^@/\0/;
  socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
  send($socket, $text, 0, pack_sockaddr_un($name)) or die "notify: $!";
}
notify("READY=1") if $kind =~ /notify|watchdog/;

pipe(my $input, my $output) or die "pipe: $!";
vec(my $set = '', fileno($input), 1) = 1;
sub idle { select(my $ready = $set, undef, undef, 0.02) for 1 .. 20; }
sub freeze { my $end = time + 2; 1 while time < $end; }
if ($kind eq 'watchdog') {
  for (1 .. 4) { idle(); notify("WATCHDOG=1"); }
  freeze() while 1;
}
do { idle(); freeze(); } while $kind ne 'once';
idle();
