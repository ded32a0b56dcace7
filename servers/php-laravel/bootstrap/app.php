<?php

require_once 'Illuminate/autoload.php';  // Debian's, for the framework and what it depends on
spl_autoload_register(fn ($name) => str_starts_with($name, 'App\\')
    && require __DIR__ . '/../app/' . substr($name, 4) . '.php');

use Illuminate\Contracts;
use Illuminate\Foundation;

$app = new Foundation\Application(dirname(__DIR__));
$app->singleton(Contracts\Http\Kernel::class, App\Kernel::class);
$app->singleton(Contracts\Console\Kernel::class, Foundation\Console\Kernel::class);
$app->singleton(Contracts\Debug\ExceptionHandler::class, Foundation\Exceptions\Handler::class);

return $app;
