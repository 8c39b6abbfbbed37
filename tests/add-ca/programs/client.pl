# client.pl URL: what the server sends.
use strict;
use HTTP::Tiny;

my $answer = HTTP::Tiny->new(verify_SSL => 1)->get($ARGV[0]);
die "$answer->{status} $answer->{content}\n" unless $answer->{success};
print $answer->{content};
