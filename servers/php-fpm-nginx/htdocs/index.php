<?php
require 'data.php';

function send(string $body, string $type = 'text/plain'): void
{
    header("Content-Type: $type");
    header('Content-Length: ' . strlen($body));
    echo $body;
}

function upload(): string
{
    $body = fopen('php://input', 'rb');
    $checksum = hash_init('crc32b');
    return hash_update_stream($checksum, $body) . ' ' . hash_final($checksum);
}

function notFound(): void
{
    http_response_code(404);
}

function echoed(): void
{
    $message = json_decode(file_get_contents('php://input'));
    if (!is_object($message)) {
        http_response_code(400);
        return;
    }
    $message->seen = true;
    send(json_encode($message), 'application/json');
}

function page(): void
{
    header('Content-Type: text/html; charset=utf-8');
    $rows = rows();
    require 'page.php';
}

function paused(): void
{
    usleep(10_000);
    send('waited');
}

// PHP has no router: a table of the first segment's 100 values.
function order(string $path): void
{
    $collections = ['users' => true];
    for ($n = 1; $n < 100; $n++) {
        $collections["resource$n"] = true;
    }
    $segments = array_map(rawurldecode(...), explode('/', substr($path, 1)));
    $isOrder = count($segments) === 4 && $segments[2] === 'orders';
    if (!$isOrder || !isset($collections[$segments[0]])) {
        notFound();
        return;
    }
    [$collection, $id, , $order] = $segments;
    send("$collection $id $order " . ($_GET['page'] ?? ''));
}

$path = strtok($_SERVER['REQUEST_URI'], '?');
match ("$_SERVER[REQUEST_METHOD] $path") {
    'GET /', 'HEAD /' => send('Hello, World!'),
    'GET /wait' => paused(),
    'GET /json' => send(json_encode(account()), 'application/json'),
    'GET /page' => page(),
    'POST /echo' => echoed(),
    'POST /upload' => send(upload()),
    default => $_SERVER['REQUEST_METHOD'] === 'GET' ? order($path) : notFound(),
};
