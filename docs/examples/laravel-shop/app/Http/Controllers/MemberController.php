<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Request;
use Response;
use Shop;

final class MemberController
{
    public function __construct(private Shop $shop)
    {
    }

    public function store(Request $request): Response
    {
        return new Response(201, ['member' => $this->shop->join($request->input('email'), $request->input('phone'))]);
    }
}
