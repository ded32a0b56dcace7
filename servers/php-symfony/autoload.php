<?php

require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';  // Debian's
spl_autoload_register(fn ($name) => str_starts_with($name, 'App\\')
    && require __DIR__ . '/src/' . substr($name, 4) . '.php');
