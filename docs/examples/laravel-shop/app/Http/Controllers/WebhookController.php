<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Request;
use Response;
use Shop;

final class WebhookController
{
    public function __construct(private Shop $shop)
    {
    }

    /** Only genuine webhooks pass the middleware. */
    public function store(Request $request): Response
    {
        $this->shop->hear($request->content);
        return new Response(200, []);
    }
}
