# SPDX-License-Identifier: Apache-2.0
# Freezes its loop in the way that the argument names, and prints the stack that Perl itself sees there.
use strict;
use warnings;
use File::Basename qw(basename);
use IO::Select;
use Time::HiRes qw(time);

my $seconds = 0.6;

# Prints "NAME (FILE):LINE" of each caller, innermost first. Called on the line that then freezes.
sub tell_stack {
    my ($file, $line) = (caller(0))[1, 2];
    my $is_new = 1;
    for (my $i = 1; ; $i++) {
        my @caller = caller($i);
        my $name = !@caller ? "main program" : $caller[7] ? "(require)" : $caller[3];
        my $is_block = @caller && $name eq "(eval)" && !defined $caller[6];
        if (!$is_block) {
            print "$name (", basename($file) =~ s/\(eval \d+\)/(eval)/r, "):$line\n";
            last if !@caller;
            ($file, $line) = @caller[1, 2];
        }
    }
    STDOUT->flush;
}

package Handler;

sub new { return bless {}, shift }

sub spin {
    my $end = Time::HiRes::time() + $seconds;
    main::tell_stack(); while (Time::HiRes::time() < $end) { }
}

sub order {
    my $end = Time::HiRes::time() + $seconds;
    my $is_told = 0;
    my $compare = sub {
        if (!$is_told) { $is_told = 1; main::tell_stack(); 1 while Time::HiRes::time() < $end; }
        return $_[0] <=> $_[1];
    };
    my @sorted = sort { $compare->($a, $b) } (3, 1, 2);
    return @sorted;
}

sub pattern {
    my $text = ("a" x 22) . "b";
    main::tell_stack(); return $text =~ /^(a+)+\1?c?$/;
}

sub evaluated {
    my ($self) = @_;
    eval {
        eval "\n\$self->spin(); 1" or die;
        1;
    } or die;
    return;
}

package main;

sub main {
    pipe(my $reader, my $writer) or die;
    my $select = IO::Select->new($reader);
    for my $turn (0 .. 5) {
        $select->can_read(0.05);
        my $method = $ARGV[0];
        Handler->new->$method() if $turn == 3;
    }
}

main();
