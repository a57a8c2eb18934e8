<?php

/**
 * A small web shop: it sells baskets and memberships, and hears by webhook what is paid.
 *
 * php -S 127.0.0.1:8000 index.php          serve it
 * php index.php register URL                register the webhook endpoint, and store its secret
 * php index.php refund SESSION AMOUNT       pay back a part of an order
 * php index.php reconcile                   look up what no webhook has said; every night
 */

declare(strict_types=1);

require_once __DIR__ . '/Shop.php';

/** Answer a request: its status and what the browser gets. */
function route(Shop $shop, string $method, string $path, string $body): array
{
    if ([$method, $path] === ['POST', '/webhooks']) {
        $genuine = $shop->isGenuine($_SERVER['HTTP_SERVICE_SIGNATURE'] ?? '', $body);
        $genuine && $shop->hear($body);
        return [$genuine ? 200 : 401, []];
    }
    $form = json_decode($body, true) ?? []; // of the fields that a browser sends only these count
    return match (true) {
        [$method, $path] === ['POST', '/orders'] => [201, ['pay_at' => $shop->order(
            $form['email'], $form['baskets'], $form['form'] ?? null,
        )]],
        [$method, $path] === ['POST', '/members'] => [201, ['member' => $shop->join($form['email'], $form['phone'])]],
        $method === 'GET' && str_starts_with($path, '/thanks/') => [200, ['status' => $shop->thank(basename($path))]],
        default => [404, []],
    };
}

$shop = Shop::fromEnvironment();
if (PHP_SAPI === 'cli') {
    $shop->run(array_slice($argv, 1));
} else {
    try {
        $path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
        [$status, $answer] = route($shop, $_SERVER['REQUEST_METHOD'], $path, file_get_contents('php://input'));
    } catch (ApiError $error) {
        [$status, $answer] = [502, ['error' => $error->getMessage()]];
    } catch (TypeError) {
        [$status, $answer] = [400, []];
    }
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode((object) $answer);
}
