<?php

namespace App;

use Illuminate\Foundation\Http\Kernel as HttpKernel;
use Illuminate\Foundation\Http\Middleware;

class Kernel extends HttpKernel
{
    /** The middleware that a new application has for every request, apart from proxies and CORS. */
    protected $middleware = [
        Middleware\PreventRequestsDuringMaintenance::class,
        Middleware\ValidatePostSize::class,
        Middleware\TrimStrings::class,
        Middleware\ConvertEmptyStringsToNull::class,
    ];
}
