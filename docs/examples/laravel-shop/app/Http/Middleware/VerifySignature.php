<?php

declare(strict_types=1);

namespace App\Http\Middleware;

use Request;
use Response;
use Shop;

/** Webhooks have no CSRF token; their signature is over the raw body. */
final class VerifySignature
{
    public function __construct(private Shop $shop)
    {
    }

    public function handle(Request $request, callable $next): Response
    {
        $genuine = $this->shop->isGenuine($request->header('Service-Signature'), $request->content);
        return $genuine ? $next($request) : new Response(401, []);
    }
}
