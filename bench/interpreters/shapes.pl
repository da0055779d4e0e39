# SPDX-License-Identifier: Apache-2.0
# Perl stacks of random shapes. `stops N SEED`: N times, prints the stack that Perl itself sees, one line "NAME (FILE):LINE|…",
# and waits for a line of input. `churn`: defines, calls and drops subs for ever.
use strict;
use warnings;
use File::Basename qw(basename);
use List::Util qw(first reduce);

$| = 1;

sub stop {
    my ($file, $line) = (caller(0))[1, 2];
    my @frames;
    for (my $i = 1; ; $i++) {
        my @caller = caller($i);
        my $name = !@caller ? "main program" : $caller[7] ? "(require)" : $caller[3];
        next if @caller && $name eq "(eval)" && !defined $caller[6];
        push @frames, "$name (" . (basename($file) =~ s/\(eval \d+\)/(eval)/r) . "):$line";
        last if !@caller;
        ($file, $line) = @caller[1, 2];
    }
    print join("|", @frames), "\n";
}

package Node {
    use overload "+" => sub { my ($self) = @_; main::grow($self->{depth}); return 0 }, '""' => \&text;

    sub new { my ($class, $depth) = @_; return bless {depth => $depth}, $class }
    sub plain { my ($self, $depth) = @_; return main::grow($depth) }
    sub text { my ($self) = @_; main::grow($self->{depth}); return "node" }
    sub TIESCALAR { my ($class, $depth) = @_; return bless {depth => $depth}, $class }
    sub FETCH { my ($self) = @_; main::grow($self->{depth}); return 1 }
    our $AUTOLOAD;
    sub AUTOLOAD { my (undef, $depth) = @_; return main::grow($depth) if defined $depth; return }
    sub DESTROY { }
}

my @ways = (
    sub { my ($depth) = @_; Node->new($depth)->plain($depth) },
    sub { my ($depth) = @_; my $sum = Node->new($depth) + 1 },
    sub { my ($depth) = @_; my $text = "" . Node->new($depth) },
    sub { my ($depth) = @_; Node->unknown($depth) },
    sub { my ($depth) = @_; my $is_done = 0; my @sorted = sort { $is_done++ or grow($depth); $a <=> $b } 2, 1 },
    sub { my ($depth) = @_; my @mapped = map { grow($depth) } 1 },
    sub { my ($depth) = @_; my $found = first { grow($depth); 1 } 1, 2 },
    sub { my ($depth) = @_; my $sum = reduce { grow($depth); 1 } 1, 2 },
    sub { my ($depth) = @_; eval { grow($depth); 1 } or die },
    sub { my ($depth) = @_; eval "\n\n  grow($depth);\n1" or die },
    sub { my ($depth) = @_; tie my $value, "Node", $depth; my $read = $value },
    sub {
        my ($depth) = @_;
        for my $i (1) {
            grow(
                $depth
            );
        }
    },
    sub { my ($depth) = @_; local $SIG{__WARN__} = sub { grow($depth) }; warn "a warning" },
    sub { my ($depth) = @_; (my $text = "x") =~ s/x/grow($depth)/e },
);

sub grow {
    my ($depth) = @_;
    if ($depth == 0) {
        stop(); sysread(STDIN, my $byte, 1);
        return 0;
    }
    $ways[rand @ways]->($depth - 1);
    return 0;
}

sub churn {
    no strict "refs";
    no warnings;
    while (1) {
        my $name = "f" . int(rand(1000));
        my $lines = "\n" x rand(50);
        eval "${lines}sub $name { my (\$n) = \@_; return \$n == 0 ? 0 : (map { $name(\$n - 1) } 1)[0] }; 1" or die $@;
        &$name(int(rand(20)));
        undef &$name;
        delete $main::{$name};
    }
}

srand($ARGV[2] // 1);
if ($ARGV[0] eq "stops") {
    grow(int(rand(12))) for 1 .. $ARGV[1];
} else {
    print "churning\n";
    churn();
}
