#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# demo-job.pl: the small numeric job of `make demo`. From the nonce alone it makes a matrix, runs 20 steps of
# power iteration and an exact product modulo a prime, and prints the figures. The same nonce gives the same
# bytes on any machine, so the SHA-256 of the output is a metric that anyone can reproduce:
#
#     perl demo-job.pl NONCE            print the figures (anywhere)
#     perl demo-job.pl --report DIR     in an instance: nonce from the metadata service, figures to DIR,
#                                       name, value and SHA-256 back through the metadata service
#     perl demo-job.pl --bench          for `starlease bench run kernel`: from STARLEASE_SEED, ten times over;
#                                       the figures, then the processor time in ms
use strict;
use warnings;

my $N     = 96;
my $PRIME = 1000003;

# Park-Miller generator, started from the bytes of the nonce.
sub generator {
    my ($nonce) = @_;
    my $x = 1;
    $x = ($x * 257 + ord) % 2147483647 for split //, $nonce;
    $x ||= 1;
    return sub { return $x = $x * 16807 % 2147483647 };
}

sub figures {
    my ($nonce) = @_;
    my $next = generator($nonce);
    my @m = map { [ map { $next->() % 1000 } 1 .. $N ] } 1 .. $N;

    # Exact: trace of M*M modulo a prime.
    my $trace = 0;
    for my $i ( 0 .. $N - 1 ) {
        $trace = ( $trace + $m[$i][$_] * $m[$_][$i] ) % $PRIME for 0 .. $N - 1;
    }

    # Floating point, one fixed order of operations: dominant eigenvalue by power iteration.
    my @v      = (1) x $N;
    my $lambda = 0;
    my @curve;
    for my $step ( 1 .. 20 ) {
        my @w;
        for my $i ( 0 .. $N - 1 ) {
            my $s = 0;
            $s += $m[$i][$_] * $v[$_] for 0 .. $N - 1;
            push @w, $s;
        }
        $lambda = 0;
        for (@w) { $lambda = $_ if $_ > $lambda }
        @v = map { $_ / $lambda } @w;
        push @curve, sprintf 'step %d eigenvalue %.9f', $step, $lambda;
    }
    return ( sprintf( '%.9f', $lambda ),
        join "\n", "nonce $nonce", "trace $trace mod $PRIME", @curve, '' );
}

# One request to the metadata service; perl-base has sockets but no HTTP client.
sub metadata {
    my ( $method, $path, $token, $body ) = @_;
    require IO::Socket::INET;
    my $s = IO::Socket::INET->new( PeerAddr => '169.254.169.254', PeerPort => 80, Timeout => 10 )
      or die "the metadata service does not answer: $!\n";
    $body //= '';
    my $auth = $token ? "X-Starlease-Token: $token\r\n" : '';
    my $type = $body  ? "Content-Type: application/json\r\n" : '';
    print {$s} "$method $path HTTP/1.1\r\nHost: 169.254.169.254\r\n$auth$type"
      . 'Content-Length: ' . length($body) . "\r\nConnection: close\r\n\r\n$body";
    my $answer = do { local $/ = undef; <$s> };
    my ( $head, $text ) = split /\r\n\r\n/, $answer, 2;
    die "metadata $method $path: ", ( split /\r\n/, $head )[0], "\n" if $head !~ m{^HTTP/1\.[01] 20};
    $text //= '';
    $text =~ s/\s+\z//;
    return $text;
}

sub report {
    my ($dir) = @_;
    my $token = metadata( 'PUT', '/v1/token', undef, undef );
    my $nonce = metadata( 'GET', '/v1/nonce', $token, undef );
    my ( $value, $text ) = figures($nonce);
    mkdir $dir;
    open my $f, '>', "$dir/figures.txt" or die "$dir/figures.txt: $!\n";
    print {$f} $text;
    close $f or die "$dir/figures.txt: $!\n";
    open my $p, '-|', 'sha256sum', "$dir/figures.txt" or die "sha256sum: $!\n";
    my ($sha) = split ' ', <$p>;
    close $p;
    metadata( 'POST', '/v1/metric', $token,
        qq({"name":"dominant_eigenvalue","value":"$value","sha256":"$sha"}) );
    print "nonce $nonce\ndominant_eigenvalue $value\nsha256 $sha\n";
    return;
}

if ( @ARGV == 2 && $ARGV[0] eq '--report' ) {
    report( $ARGV[1] );
}
elsif ( @ARGV == 1 && $ARGV[0] eq '--bench' ) {
    my $seed = $ENV{STARLEASE_SEED} // die "demo-job.pl: STARLEASE_SEED is not set\n";
    my $text;
    ( undef, $text ) = figures($seed) for 1 .. 10;
    print $text, 'time ', 1000 * (times)[0], " ms\n";
}
elsif ( @ARGV == 1 ) {
    my ( undef, $text ) = figures( $ARGV[0] );
    print $text;
}
else {
    die "usage: demo-job.pl NONCE | demo-job.pl --report DIRECTORY | demo-job.pl --bench\n";
}
