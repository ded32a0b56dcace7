<?php

use App\Hello;
use Illuminate\Support\Facades\Route;

Route::get('/', [Hello::class, 'hello']);
Route::fallback([Hello::class, 'missing']);
