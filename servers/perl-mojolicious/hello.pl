use Mojolicious::Lite -signatures;
use Compress::Raw::Zlib qw(crc32);
use Mojo::IOLoop;
use Mojo::JSON qw(true);

my @notes = ('plain', '<script>alert("x")</script>', 'fish & chips', q{it's "quoted"}, 'a < b > c');
my $text
    = 'Packed by hand on the day it came in, checked twice, and sent with the early van. '
    . 'Leave it with a neighbor if nobody is at home, and ring the old bell before you go; '
    . 'the gate sticks in wet weather. Keep it dry and upright, and return the empty box.';
my @rows = map { { number => $_, name => "Item $_", note => $notes[$_ % 5], text => $text } } 1 .. 200;

sub account {
    my @items = map { { id => 0 + $_, name => "Item $_", price => $_ + 0.25 } } 1 .. 10;
    return {
        id => 4711, name => 'Ada Example', email => 'ada@example.org', city => "Z\x{fc}rich",
        active => true, balance => 1250.75, note => undef, created => '2026-11-22T10:30:00Z',
        items => \@items,
    };
}

get '/' => sub ($c) {
    $c->render(text => 'Hello, World!', format => 'txt');
};

get '/wait' => sub ($c) {
    $c->render_later;
    Mojo::IOLoop->timer(0.01 => sub { $c->render(text => 'waited', format => 'txt') });
};

get '/json' => sub ($c) {
    $c->render(json => account());
};

post '/echo' => sub ($c) {
    my $message = $c->req->json or return $c->rendered(400);
    $message->{seen} = true;
    $c->render(json => $message);
};

get '/page' => sub ($c) {
    $c->render('page', rows => \@rows);
};

post '/upload' => sub ($c) {
    my $body = $c->req->content->asset;
    my ($length, $checksum) = (0, 0);
    while (length(my $piece = $body->get_chunk($length))) {
        $checksum = crc32($piece, $checksum);
        $length += length $piece;
    }
    $c->render(text => sprintf('%d %08x', $length, $checksum), format => 'txt');
};

for my $collection ('users', map {"resource$_"} 1 .. 99) {
    get "/$collection/:id/orders/:order" => sub ($c) {
        my $values = join ' ', map { $c->param($_) } qw(id order page);
        $c->render(text => "$collection $values", format => 'txt');
    };
}

app->start;

__DATA__

@@ page.html.ep
<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>Orders</title></head>
<body>
<h1>Orders</h1>
<table>
<tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
% for my $row (@$rows) {
<tr><td><%= $row->{number} %></td><td><%= $row->{name} %></td><td><%= $row->{note} %></td><td><%= $row->{text} %></td></tr>
% }
</table>
</body>
</html>
