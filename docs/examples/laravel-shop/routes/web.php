<?php

declare(strict_types=1);

use App\Http\Controllers\MemberController;
use App\Http\Controllers\OrderController;
use App\Http\Controllers\WebhookController;
use App\Http\Middleware\VerifySignature;

Route::post('/orders', [OrderController::class, 'store']);
Route::get('/thanks/{session}', [OrderController::class, 'thank']);
Route::post('/members', [MemberController::class, 'store']);
Route::post('/webhooks', [WebhookController::class, 'store'], VerifySignature::class);
