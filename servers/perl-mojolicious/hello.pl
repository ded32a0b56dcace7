use Mojolicious::Lite -signatures;

get '/' => sub ($c) {
    $c->render(text => 'Hello, World!', format => 'txt');
};

app->start;
