<?php
// One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each.
declare(strict_types=1);

require __DIR__ . '/signatures.php';

while (($line = fgets(STDIN)) !== false) {
    [$method, $webhook, $header, $body, $now] = explode("\t", rtrim($line, "\n"));
    $genuine = is_genuine($method, $webhook, $argv[1], base64_decode($header), base64_decode($body), (int) $now);
    echo $genuine ? 1 : 0, "\n";
}
