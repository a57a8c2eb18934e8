<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Request;
use Response;
use Shop;

final class OrderController
{
    public function __construct(private Shop $shop)
    {
    }

    /** Of the fields that a browser sends only these count. */
    public function store(Request $request): Response
    {
        $form = array_map($request->input(...), ['email', 'baskets', 'form']);
        return new Response(201, ['pay_at' => $this->shop->order(...$form)]);
    }

    public function thank(Request $request, string $session): Response
    {
        return new Response(200, ['status' => $this->shop->thank($session)]);
    }
}
