<?php

namespace App;

use Illuminate\Contracts\View\View;
use Illuminate\Http\JsonResponse;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Routing\Controller;

class Hello extends Controller
{
    private function text(string $body, int $status = 200): Response
    {
        return response($body, $status)->header('Content-Type', 'text/plain');
    }

    public function hello(): Response
    {
        return $this->text('Hello, World!');
    }

    public function missing(): Response
    {
        return $this->text('Not Found', 404);
    }

    public function pause(): Response
    {
        usleep(10_000);
        return $this->text('waited');
    }

    public function json(): JsonResponse
    {
        return response()->json(Data::account());
    }

    public function echoed(Request $request): Response|JsonResponse
    {
        $message = json_decode($request->getContent());
        if (!is_object($message)) {
            return $this->text('Bad Request', 400);
        }
        $message->seen = true;
        return response()->json($message);
    }

    public function page(): View
    {
        return view('page', ['rows' => Data::rows()]);
    }

    public function upload(Request $request): Response
    {
        $checksum = hash_init('crc32b');
        $length = hash_update_stream($checksum, $request->getContent(true));
        return $this->text($length . ' ' . hash_final($checksum));
    }

    public function order(Request $request, string $id, string $order, string $collection): Response
    {
        return $this->text("$collection $id $order " . $request->query('page'));
    }
}
