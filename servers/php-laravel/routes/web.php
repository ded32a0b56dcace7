<?php

use App\Hello;
use Illuminate\Support\Facades\Route;

Route::get('/', [Hello::class, 'hello']);
Route::get('/wait', [Hello::class, 'pause']);
Route::get('/json', [Hello::class, 'json']);
Route::get('/page', [Hello::class, 'page']);
Route::post('/echo', [Hello::class, 'echoed']);
Route::post('/upload', [Hello::class, 'upload']);
foreach (['users', ...array_map(fn (int $n) => "resource$n", range(1, 99))] as $collection) {
    Route::get("/$collection/{id}/orders/{order}", [Hello::class, 'order'])->defaults('collection', $collection);
}
Route::any('{path}', [Hello::class, 'missing'])->where('path', '.*')->fallback();
