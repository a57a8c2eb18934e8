<?php

// A term at the school: fees in two currencies, one of which fails first, and two trips.

declare(strict_types=1);

require_once __DIR__ . '/School.php';

const PAYS = '+24177000000';
const TOO_LITTLE_MONEY = '+24177000001';

$school = School::fromEnvironment();
if (($argv[1] ?? '') === 'report') {
    echo json_encode($school->report()), "\n";
    return;
}

// The sandbox waits for webhooks before it answers, so it has time.
$sandbox = new Payments(getenv('PAYMENTS_EMULATOR_URL'), getenv('PAYMENTS_EMULATOR_KEY'), 120);
$control = fn (string $path, array $body): array => $sandbox->call('POST', $path, $body);
$advance = fn (string $by): array => $control('/_emulator/clock/advance', ['by' => $by]);

/** Pay a link or an invoice as a buyer does on its page. */
$pay = function (string $kind, string $id, string $parent, string $phone) use ($control, $advance) {
    $body = ['method' => ['type' => 'mobile_money', 'phone' => $phone]];
    if ($kind === 'payment-links') {
        $body['customer'] = ['email' => $parent, 'name' => $parent];
    }
    $status = $control("/_emulator/$kind/$id/pay", $body)['status'];
    $advance('1s');
    return $status;
};

$workers = ['PHP_CLI_SERVER_WORKERS' => '4'] + getenv();
$command = [PHP_BINARY, '-S', '127.0.0.1:0', __DIR__ . '/index.php'];
$server = proc_open($command, [2 => ['pipe', 'w']], $pipes, null, $workers);
preg_match('#http://[\d.:]+#', fgets($pipes[2]), $address);
$home = $address[0];
$events = ['payment_intent.succeeded', 'payment_intent.failed', 'invoice.paid',
    'invoice.payment_overdue'];
$hook = ['name' => 'School', 'url' => "$home/webhooks", 'events' => $events];
$school->keep($control('/v1/webhooks/', $hook)['secret']);

$francs = $school->openTerm('2026-1', 'XAF', 50000, $home);
$euros = $school->openTerm('2026-1', 'EUR', 8000, $home);
$pay('payment-links', $francs, 'awa@example.com', TOO_LITTLE_MONEY);
$pay('payment-links', $francs, 'awa@example.com', PAYS);
$pay('payment-links', $euros, 'ben@example.com', PAYS);
$pay('payment-links', $francs, 'cyr@example.com', PAYS);
$advance('16h');
$school->night();

$now = new DateTimeImmutable($advance('0s')['now']);
$due = $now->modify('+10 days')->format('Y-m-d');
$trips = array_map(fn (string $parent) => $school->bill($parent, $due),
    ['awa@example.com', 'ben@example.com']);
$advance('1s');
$pay('invoices', $trips[0], 'awa@example.com', PAYS);
// The second trip is paid only after its day.
$advance('12d');
$pay('invoices', $trips[1], 'ben@example.com', PAYS);
$advance('2d');
$school->night();
$advance('20d');
$school->month((int) $now->format('Y'), (int) $now->format('n'));

// The workers of the server end with nobody else.
$pid = proc_get_status($server)['pid'];
foreach (explode(' ', trim(file_get_contents("/proc/$pid/task/$pid/children"))) as $worker) {
    posix_kill((int) $worker, SIGTERM);
}
proc_terminate($server);
