# SPDX-License-Identifier: Apache-2.0
# A loop that freezes once, as loop.c does: loop.pl POLL DISPATCH KIND. An event is a byte of standard input.
use strict;
use warnings;
use Fcntl qw(:flock);
use IO::Select;
use Time::HiRes qw(sleep time);

my $FREEZE_S = 0.9;
my ($poll, $dispatch, $kind) = @ARGV;
my $path = "$ENV{TMPDIR}/held";

# A process that has the lock, and answers late.
sub start_helper {
    open(my $helper, "-|", "exec flock $path sh -c 'echo x; sleep $FREEZE_S; echo y'") or die;
    sysread($helper, my $text, 2);
    return $helper;
}

sub freeze_here {
    if ($kind eq "cpu") {
        my $end = time + $FREEZE_S;
        1 while time < $end;
    } elsif ($kind eq "sleep") {
        sleep($FREEZE_S);
    } elsif ($kind eq "sleep-by-select") {
        select(undef, undef, undef, $FREEZE_S);
    } elsif ($kind eq "child") {
        system("exec sleep $FREEZE_S");
    } elsif ($kind eq "output") {
        my $text = `sleep $FREEZE_S; echo late`;
    } else {
        my $helper = start_helper();
        if ($kind eq "flock") {
            open(my $file, ">", $path) or die;
            flock($file, LOCK_EX);
        } elsif ($kind eq "read") {
            sysread($helper, my $text, 2);
        } elsif ($kind eq "answer-by-select") {
            IO::Select->new($helper)->can_read(20);
        } else {
            exit(2);
        }
    }
}

my $select = IO::Select->new(\*STDIN);
if ($poll =~ /many/) {
    for (1 .. 3) {
        pipe(my $read, my $write) or die;
        push @main::pipes, $read, $write;
        $select->add($read);
    }
}
for my $turn (1 .. $dispatch + 5) {
    $select->can_read();
    sysread(STDIN, my $text, 1);
    freeze_here() if $turn == $dispatch;
}
print "good\n";
