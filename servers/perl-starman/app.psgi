use strict;
use warnings;

sub {
    my $env = shift;
    if ($env->{REQUEST_METHOD} eq 'GET' && $env->{PATH_INFO} eq '/') {
        return [200, ['Content-Type' => 'text/plain', 'Content-Length' => 13], ['Hello, World!']];
    }
    return [404, ['Content-Length' => 0], []];
};
