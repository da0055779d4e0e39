# SPDX-License-Identifier: Apache-2.0
# perl freezing.pl FLAG: see freezing.c.
use strict;
use warnings;
use Time::HiRes qw(time sleep);

my $flag = $ARGV[0];

sub freeze_sleep { sleep 1.5; return }

sub freeze_compute {
  my $end = time + 1.5;
  1 while time < $end;
  return;
}

sub freeze_child { system('sleep 1.5'); return }

my %ways = (sleep => \&freeze_sleep, compute => \&freeze_compute, child => \&freeze_child);
pipe(my $reader, my $writer);
while (1) {
  my $set = '';
  vec($set, fileno($reader), 1) = 1;
  select($set, undef, undef, 0.05);
  next unless -e $flag;
  open(my $file, '<', $flag);
  my $way = <$file>;
  close($file);
  chomp $way;
  $ways{$way}->();
  unlink $flag;
}
