# SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use IO::Select;
use Time::HiRes qw(time);

sub handle {
    my $end = time() + 1;
    my $total = 0;
    $total++ while time() < $end; # FREEZE main::handle
    return;
}

my $select = IO::Select->new(\*STDIN);
while ($select->can_read() && sysread(STDIN, my $text, 100)) {
    handle() if $text =~ /freeze/;
}
