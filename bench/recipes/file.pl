# SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use IO::Select;

sub handle {
    open(my $file, "<", $ENV{FIFO}) or die; # FREEZE main::handle
    my $line = <$file>;
    return $line;
}

my $select = IO::Select->new(\*STDIN);
while ($select->can_read() && sysread(STDIN, my $text, 100)) {
    handle() if $text =~ /freeze/;
}
