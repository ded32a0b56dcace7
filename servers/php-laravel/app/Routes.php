<?php

namespace App;

use Illuminate\Foundation\Support\Providers\RouteServiceProvider;
use Illuminate\Support\Facades\Route;

class Routes extends RouteServiceProvider
{
    public function boot(): void
    {
        $this->routes(fn () => Route::group([], base_path('routes/web.php')));
    }
}
