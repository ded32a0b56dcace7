<?php
$body = 'Hello, World!';
header('Content-Type: text/plain');
header('Content-Length: ' . strlen($body));
echo $body;
