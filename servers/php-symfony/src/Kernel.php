<?php

namespace App;

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle()];
    }

    public function getProjectDir(): string
    {
        return dirname(__DIR__);
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', ['secret' => 'a secret', 'http_method_override' => false]);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('hello', '/')->controller([$this, 'hello'])->methods(['GET', 'HEAD']);
        $routes->add('wait', '/wait')->controller([$this, 'pause'])->methods(['GET']);
        $routes->add('json', '/json')->controller([$this, 'json'])->methods(['GET']);
        $routes->add('echo', '/echo')->controller([$this, 'echoed'])->methods(['POST']);
        $routes->add('upload', '/upload')->controller([$this, 'upload'])->methods(['POST']);
        foreach (['users', ...array_map(fn (int $n) => "resource$n", range(1, 99))] as $collection) {
            $routes->add($collection, "/$collection/{id}/orders/{order}")
                ->controller([$this, 'order'])->defaults(['collection' => $collection])->methods(['GET']);
        }
    }

    private function text(string $body): Response
    {
        return new Response($body, 200, ['Content-Type' => 'text/plain']);
    }

    public function hello(): Response
    {
        return $this->text('Hello, World!');
    }

    public function pause(): Response
    {
        usleep(10_000);
        return $this->text('waited');
    }

    public function json(): JsonResponse
    {
        $item = fn (int $n) => ['id' => $n, 'name' => "Item $n", 'price' => $n + 0.25];
        return new JsonResponse([
            'id' => 4711, 'name' => 'Ada Example', 'email' => 'ada@example.org', 'city' => 'Zürich',
            'active' => true, 'balance' => 1250.75, 'note' => null, 'created' => '2026-11-22T10:30:00Z',
            'items' => array_map($item, range(1, 10)),
        ]);
    }

    public function echoed(Request $request): Response
    {
        $message = json_decode($request->getContent());
        if (!is_object($message)) {
            return new Response('', 400);
        }
        $message->seen = true;
        return new JsonResponse($message);
    }

    public function upload(Request $request): Response
    {
        $checksum = hash_init('crc32b');
        $length = hash_update_stream($checksum, $request->getContent(true));
        return $this->text($length . ' ' . hash_final($checksum));
    }

    public function order(Request $request, string $collection, string $id, string $order): Response
    {
        return $this->text("$collection $id $order " . $request->query->get('page'));
    }
}
