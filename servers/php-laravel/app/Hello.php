<?php

namespace App;

use Illuminate\Http\Response;
use Illuminate\Routing\Controller;

class Hello extends Controller
{
    public function hello(): Response
    {
        return response('Hello, World!')->header('Content-Type', 'text/plain');
    }

    public function missing(): Response
    {
        return response('Not Found', 404)->header('Content-Type', 'text/plain');
    }
}
