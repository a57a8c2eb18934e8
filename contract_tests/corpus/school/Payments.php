<?php

declare(strict_types=1);

/** A response of the service that is no success; its code is the HTTP status, 0 for none. */
final class ServiceError extends RuntimeException
{
}

/** Whether a planted bug is switched on; corpus.yaml lists them. */
function bug(string $name): bool
{
    return in_array($name, explode(',', (string) getenv('BUG')), true);
}

/** A client of the payments service. */
final class Payments
{
    private const PAUSES = [1, 2, 4];

    public function __construct(private string $url, private string $key, private int $limit = 5)
    {
    }

    public function get(string $path): array
    {
        return $this->call('GET', $path);
    }

    /** The objects of all pages of a list. */
    public function every(string $path): array
    {
        $all = [];
        for ($page = 1; ; $page++) {
            $list = $this->get($page === 1 ? $path : "$path&page=$page");
            $all = [...$all, ...$list['data']];
            if ($list['pagination']['next'] === null || bug('first_page_only')) {
                return $all;
            }
        }
    }

    /** The response to a request, which is sent again while its outcome is unknown. */
    public function call(string $method, string $path, ?array $body = null, string $key = ''): array
    {
        foreach ([...self::PAUSES, null] as $pause) {
            if ($key !== '' && bug('key_per_attempt')) {
                $key = bin2hex(random_bytes(16));
            }
            [$status, $retryAfter, $object] = $this->send($method, $path, $body, $key);
            if ($object !== null && $status < 300) {
                return $object;
            }
            $isFinal = $status >= 400 && $status < 500 && $status !== 429;
            if ($isFinal || $pause === null || bug('never_again')) {
                throw new ServiceError("$method $path: $status", $status);
            }
            bug('no_pause') || usleep(1_000_000 * ($retryAfter ?? $pause));
        }
    }

    /** Status, seconds to wait if the service says so, and body; null if none can be read. */
    private function send(string $method, string $path, ?array $body, string $key): array
    {
        $headers = ["Authorization: Bearer $this->key", 'Content-Type: application/json',
            'Connection: close'];
        if ($key !== '' && !bug('no_key')) {
            $headers[] = "Idempotency-Key: $key";
        }
        $request = ['method' => $method, 'header' => $headers, 'ignore_errors' => true,
            'timeout' => bug('no_timeout') ? 3600 : $this->limit];
        if ($body !== null) {
            $request['content'] = json_encode((object) $body);
        }
        $context = stream_context_create(['http' => $request]);
        $text = @file_get_contents($this->url . $path, false, $context);
        $object = $text === false ? null : json_decode($text, true);
        $shown = implode("\n", $http_response_header ?? []);
        preg_match('#^HTTP/\S+ (\d+)#', $shown, $status);
        preg_match('/^Retry-After: (\d+)/mi', $shown, $wait);
        $seconds = isset($wait[1]) ? (int) $wait[1] : null;
        return [(int) ($status[1] ?? 0), $seconds, is_array($object) ? $object : null];
    }
}
