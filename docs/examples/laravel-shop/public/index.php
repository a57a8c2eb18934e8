<?php

declare(strict_types=1);

require __DIR__ . '/../bootstrap/app.php';

Route::dispatch(Request::capture())->send();
