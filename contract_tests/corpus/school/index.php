<?php

// Serves the school: php -S 127.0.0.1:PORT index.php

declare(strict_types=1);

require_once __DIR__ . '/School.php';

$school = School::fromEnvironment();
$body = file_get_contents('php://input');
$event = json_decode($body, true);
if ($_SERVER['REQUEST_METHOD'] === 'GET') {
    $school->thank($_GET['parent'] ?? '');
} elseif (($event['type'] ?? '') !== 'webhook.ping') {
    if (!$school->isGenuine($_SERVER['HTTP_SERVICE_SIGNATURE'] ?? null, $body)) {
        http_response_code(401);
        return;
    }
    try {
        $school->hear($event);
    } catch (Throwable) {
        http_response_code(bug('swallows_errors') ? 200 : 500);
    }
}
