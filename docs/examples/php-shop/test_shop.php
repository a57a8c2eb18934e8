<?php

/**
 * The shop's test suite, and its story; without a test framework, through HTTP.
 *
 * php test_shop.php [--story]
 */

declare(strict_types=1);

require_once __DIR__ . '/Payments.php';

const SHOP = __DIR__ . '/index.php';
const PAYS = '+24177000000';
const TOO_LITTLE_MONEY = '+24177000001';

/** A shop that is served, and the world that its payments service has for it. */
final class World
{
    public readonly Payments $payments;
    private array $environment;
    private string $file;
    private string $url;
    private mixed $server;
    private mixed $log;

    public function __construct(private string $key)
    {
        // A year that passes takes its time.
        $this->payments = new Payments(getenv('PAYMENTS_EMULATOR_URL'), $key, 60);
        $this->file = tempnam(sys_get_temp_dir(), 'shop');
        $this->environment = [
            'PAYMENTS_URL' => getenv('PAYMENTS_EMULATOR_URL'), 'PAYMENTS_KEY' => $key,
            'SHOP_BOOK' => $this->file, 'PHP_CLI_SERVER_WORKERS' => '4',
        ] + getenv();
        // Port 0 is a free one, which the first line of the log names.
        $this->server = proc_open([PHP_BINARY, '-S', '127.0.0.1:0', SHOP], [2 => ['pipe', 'w']], $pipes, null, $this->environment);
        $this->log = $pipes[2];
        preg_match('#http://[\d.:]+#', fgets($this->log), $found);
        $this->url = $found[0];
        $this->control('/clock/freeze', []);
        $this->shop('register', "$this->url/webhooks");
    }

    public function close(): void
    {
        // Its workers have no parent that ends them.
        foreach (explode(' ', trim((string) @file_get_contents("/proc/{$this->pid()}/task/{$this->pid()}/children"))) as $worker) {
            posix_kill((int) $worker, SIGTERM);
        }
        proc_terminate($this->server);
        fclose($this->log);
        proc_close($this->server);
        array_map(unlink(...), glob("$this->file*"));
    }

    private function pid(): int
    {
        return proc_get_status($this->server)['pid'];
    }

    /** A command of the shop; what it prints. */
    public function shop(string ...$command): string
    {
        $process = proc_open([PHP_BINARY, SHOP, ...$command], [1 => ['pipe', 'w']], $pipes, null, $this->environment);
        $output = stream_get_contents($pipes[1]);
        equal(proc_close($process), 0, "exit status of $command[0]");
        return $output;
    }

    /** What the shop answers to a browser, with the status. */
    public function browse(string $method, string $path, array $form = []): array
    {
        $http = ['method' => $method, 'content' => json_encode($form), 'header' => 'Content-Type: application/json', 'ignore_errors' => true];
        $answer = file_get_contents($this->url . $path, false, stream_context_create(['http' => $http]));
        return ['http' => (int) explode(' ', $http_response_header[0])[1]] + json_decode($answer, true);
    }

    public function book(string $list, string $id): array
    {
        return json_decode(file_get_contents($this->file), true)[$list][$id];
    }

    public function control(string $path, array $body): array
    {
        return $this->payments->call('POST', "/_emulator$path", $body, null);
    }

    /** Return when everything that fell due is done, the webhooks' answers included. */
    public function advance(string $by): void
    {
        $this->control('/clock/advance', ['by' => $by]);
    }

    /** The checkout session of a new order; the price that a browser sends counts for nothing. */
    public function order(int $baskets): string
    {
        $form = ['email' => 'awa@example.com', 'baskets' => $baskets, 'price' => 100];
        return basename($this->browse('POST', '/orders', $form)['pay_at']);
    }

    public function pay(string $session, string $phone): void
    {
        $this->control("/checkout-sessions/$session/pay", ['method' => ['type' => 'mobile_money', 'phone' => $phone]]);
        $this->advance('1s');
    }

    public function join(string $email, string $phone): string
    {
        $member = $this->browse('POST', '/members', ['email' => $email, 'phone' => $phone])['member'];
        $this->advance('1s');
        return $member;
    }

    public function changePhone(string $customer, string $phone): void
    {
        $payments = new Payments(getenv('PAYMENTS_EMULATOR_URL'), $this->key);
        $payments->call('PATCH', "/v1/customers/$customer/", ['phone' => $phone], "phone-$customer-$phone");
    }

    public function status(string $session): string
    {
        return $this->browse('GET', "/thanks/$session")['status'];
    }
}

function equal(mixed $got, mixed $wanted, string $what): void
{
    if ($got !== $wanted) {
        throw new UnexpectedValueException("$what: " . json_encode($got) . ' instead of ' . json_encode($wanted));
    }
}

const TESTS = [
    'an order is shipped once, when it is paid' => 'testAnOrder',
    'a refund is paid once' => 'testARefund',
    'a member pays every month, and a failed renewal recovers' => 'testMembers',
    'a forged webhook changes nothing' => 'testAForgedWebhook',
    'a lost answer is asked for again' => 'testALostAnswer',
];

function testAnOrder(World $world): void
{
    $world->control('/faults', ['then' => ['duplicate' => 2], 'match' => ['event' => 'checkout.session.completed']]);
    $session = $world->order(3);
    equal($world->status($session), 'open', 'status before the payment');
    $world->pay($session, TOO_LITTLE_MONEY);
    equal($world->book('orders', $session)['status'], 'declined', 'status after a declined payment');
    $world->pay($session, PAYS);
    equal($world->book('orders', $session), ['baskets' => 3, 'status' => 'paid', 'shipped' => 3], 'order');
}

function testARefund(World $world): void
{
    $session = $world->order(1);
    $world->pay($session, PAYS);
    $refund = $world->shop('refund', $session, '500');
    equal($world->shop('refund', $session, '500'), $refund, 'refund');
    $world->advance('1d');
    equal($world->payments->get("/v1/refunds/$refund/")['status'], 'succeeded', 'status');
}

function testMembers(World $world): void
{
    $awa = $world->join('awa@example.com', PAYS);
    $ben = $world->join('ben@example.com', TOO_LITTLE_MONEY);
    equal($world->book('members', $ben)['status'], 'overdue', 'status');
    $world->changePhone($ben, PAYS);
    $world->advance('1d');
    equal($world->book('members', $ben)['status'], 'active', 'status after the retry');
    $world->advance('P1Y');
    equal(count($world->book('members', $awa)['paid']), 13, 'months');
}

function testAForgedWebhook(World $world): void
{
    $world->control('/faults', ['then' => ['tamper' => true], 'match' => ['event' => 'checkout.session.completed']]);
    $session = $world->order(1);
    $world->pay($session, PAYS);
    equal($world->book('orders', $session)['shipped'], 0, 'baskets');
}

function testALostAnswer(World $world): void
{
    $world->control('/faults', ['then' => ['drop' => 'after'], 'match' => ['path' => '/checkout-sessions/']]);
    $session = $world->order(1);
    equal(array_column($world->payments->get('/v1/checkout-sessions/')['data'], 'id'), [$session], 'sessions');
}

/** Some days at the shop, to be tried with every fault. They end the same whatever is lost on the way. */
function story(World $world): void
{
    [$paid, $unpaid] = [$world->order(2), $world->order(2)];
    equal($world->status($unpaid), 'open', 'an order was shipped that no one paid');
    $world->pay($paid, TOO_LITTLE_MONEY);
    $world->pay($paid, PAYS);
    foreach (['first', 'second'] as $click) {
        $world->shop('refund', $paid, '1000');
    }
    equal(count($world->payments->get('/_emulator/objects?kind=refund')['data']), 1, 'refunds made of one');

    $awa = $world->join('awa@example.org', PAYS);
    $ben = $world->join('ben@example.org', TOO_LITTLE_MONEY);
    equal($world->book('members', $ben)['status'] === 'active', false, 'a member came in who had not paid');
    $world->changePhone($ben, PAYS);
    $rejected = $world->browse('POST', '/orders', ['email' => 'no address', 'baskets' => 1]);
    equal($rejected['http'], 502, 'status of an order without an address');

    // A month passes, what was delayed arrives, then the shop does what it does every night.
    $world->advance('33d');
    $world->shop('reconcile');
    equal($world->book('orders', $paid), ['baskets' => 2, 'status' => 'paid', 'shipped' => 2], 'the paid order');
    equal($world->book('orders', $unpaid)['shipped'], 0, 'baskets shipped that no one paid');
    foreach ([$awa, $ben] as $customer) {
        equal($world->book('members', $customer)['status'], 'active', 'a member who paid');
        equal(count($world->book('members', $customer)['paid']), 2, 'months that were paid');
    }
}

/** Run something in a world; what failed, if anything. */
function failure(callable $run, string $key): ?string
{
    $world = new World($key);
    try {
        $run($world);
        return null;
    } catch (UnexpectedValueException | ApiError $error) {
        return $error->getMessage();
    } finally {
        $world->close();
    }
}

$isStory = ($argv[1] ?? '') === '--story';
$failed = 0;
foreach ($isStory ? ['story' => 'story'] : TESTS as $name => $test) {
    // A key no one used before opens a world with a clock.
    $failure = failure($test, $isStory ? getenv('PAYMENTS_EMULATOR_KEY') : 'sk_test_' . bin2hex(random_bytes(8)));
    $failed += $failure === null ? 0 : 1;
    echo $failure === null ? "ok $name\n" : "FAILED $name: $failure\n";
}
exit($failed);
