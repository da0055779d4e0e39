# SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use IO::Select;

sub handle {
    my $text = ("a" x 23) . "b";
    return $text =~ /^(a+)+\1?c?$/; # FREEZE main::handle
}

my $select = IO::Select->new(\*STDIN);
while ($select->can_read() && sysread(STDIN, my $text, 100)) {
    handle() if $text =~ /freeze/;
}
