<?php

// What bin/console cache:warmup does: the container and the routes become PHP files.
require_once __DIR__ . '/autoload.php';
$kernel = new App\Kernel('prod', false);
$kernel->boot();
$kernel->getContainer()->get('cache_warmer')->warmUp($kernel->getCacheDir());
