<?php

declare(strict_types=1);

/** An error that the service answered; its code is the HTTP status. */
final class ApiError extends RuntimeException
{
}

/** A client of the payments service, on PHP's own HTTP streams. */
final class Payments
{
    private const PAUSES = [1, 2, 4]; // seconds before each further attempt at a request

    public function __construct(private string $url, private string $key, private int $timeout = 10)
    {
    }

    public function get(string $path): array
    {
        return $this->call('GET', $path, null, null);
    }

    /** The answer to a request, which is sent again, as the same one, if it is not known whether it was done. */
    public function call(string $method, string $path, ?array $body, ?string $idempotencyKey): array
    {
        $headers = ["Authorization: Bearer $this->key", 'Content-Type: application/json', 'Connection: close'];
        if ($idempotencyKey !== null) {
            $headers[] = "Idempotency-Key: $idempotencyKey";
        }
        $request = ['method' => $method, 'header' => $headers, 'timeout' => $this->timeout, 'ignore_errors' => true];
        if ($body !== null) {
            $request['content'] = json_encode((object) $body, JSON_THROW_ON_ERROR);
        }
        foreach ([...self::PAUSES, null] as $pause) {
            [$status, $retryAfter, $answer] = $this->send($path, $request);
            if ($answer !== null && $status < 300) {
                return $answer;
            }
            if ($answer !== null && $status < 500 && $status !== 429 || $pause === null) {
                throw new ApiError("$method $path: $status", $status);
            }
            sleep($retryAfter ?? $pause);
        }
    }

    /** Status, seconds to wait if the service says so, and body; the body is null if none came that can be read. */
    private function send(string $path, array $request): array
    {
        $text = @file_get_contents($this->url . $path, false, stream_context_create(['http' => $request]));
        $answer = $text === false ? null : json_decode($text, true);
        $headers = implode("\n", $http_response_header ?? []);
        preg_match('#^HTTP/\S+ (\d+)#', $headers, $status);
        preg_match('/^Retry-After: (\d+)/mi', $headers, $retryAfter);
        return [(int) ($status[1] ?? 0), isset($retryAfter[1]) ? (int) $retryAfter[1] : null, is_array($answer) ? $answer : null];
    }
}
