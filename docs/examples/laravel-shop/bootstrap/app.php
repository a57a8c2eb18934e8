<?php

/** What Laravel would bring: requests, responses, routes with middleware, and classes that are found by their names. */

declare(strict_types=1);

require_once __DIR__ . '/../../php-shop/Shop.php';

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'App\\')) {
        require_once __DIR__ . '/../' . str_replace(['App\\', '\\'], ['app/', '/'], $class) . '.php';
    }
});

final class Request
{
    private function __construct(public readonly string $method, public readonly string $path, public readonly string $content)
    {
    }

    public static function capture(): self
    {
        $path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
        return new self($_SERVER['REQUEST_METHOD'], $path, file_get_contents('php://input'));
    }

    public function input(string $name): mixed
    {
        return json_decode($this->content, true)[$name] ?? null;
    }

    public function header(string $name): string
    {
        return $_SERVER['HTTP_' . strtoupper(strtr($name, '-', '_'))] ?? '';
    }
}

final class Response
{
    public function __construct(private int $status, private array $body)
    {
    }

    public function send(): void
    {
        http_response_code($this->status);
        header('Content-Type: application/json');
        echo json_encode((object) $this->body);
    }
}

final class Route
{
    private static array $routes = [];

    public static function get(string $path, array $action, ?string $middleware = null): void
    {
        self::$routes[] = ['GET', $path, $action, $middleware];
    }

    public static function post(string $path, array $action, ?string $middleware = null): void
    {
        self::$routes[] = ['POST', $path, $action, $middleware];
    }

    public static function dispatch(Request $request): Response
    {
        $shop = Shop::fromEnvironment();
        foreach (self::$routes as [$method, $path, [$controller, $action], $middleware]) {
            $pattern = '#^' . preg_replace('/{(\w+)}/', '(?<$1>[^/]+)', $path) . '$#';
            if ($method !== $request->method || !preg_match($pattern, $request->path, $found)) {
                continue;
            }
            $named = array_filter($found, is_string(...), ARRAY_FILTER_USE_KEY);
            $next = static fn (Request $request): Response => (new $controller($shop))->$action($request, ...$named);
            try {
                return $middleware ? (new $middleware($shop))->handle($request, $next) : $next($request);
            } catch (ApiError $error) {
                return new Response(502, ['error' => $error->getMessage()]);
            } catch (TypeError) {
                return new Response(400, []);
            }
        }
        return new Response(404, []);
    }
}

require __DIR__ . '/../routes/web.php';
