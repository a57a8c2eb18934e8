<?php

declare(strict_types=1);

require_once __DIR__ . '/Payments.php';

const PRICE = 2000; // of a basket, in francs
const FEE = 5000; // of a month's membership

const EVENTS = [
    'checkout.session.completed', 'payment_intent.failed',
    'invoice.paid', 'subscription.payment_failed', 'subscription.canceled',
];

// What a subscription's status, or an event, says of a member.
const STATUSES = [
    'invoice.paid' => 'active', 'subscription.active' => 'active',
    'subscription.payment_failed' => 'overdue', 'subscription.past_due' => 'overdue',
    'subscription.canceled' => 'out',
];

/** What the shop does; its book of orders and members is a file. */
final class Shop
{
    public function __construct(private Payments $payments, private string $file, private string $secret)
    {
    }

    public static function fromEnvironment(): self
    {
        $payments = new Payments((string) getenv('PAYMENTS_URL'), (string) getenv('PAYMENTS_KEY'));
        $file = getenv('SHOP_BOOK') ?: sys_get_temp_dir() . '/php-shop.json';
        return new self($payments, $file, (string) getenv('PAYMENTS_WEBHOOK_SECRET'));
    }

    /** Begin an order; where the buyer pays it. A form that is sent again, after a crash too, is the same order. */
    public function order(string $email, int $baskets, ?string $form = null): string
    {
        // The service knows the form for a day, by its Idempotency-Key.
        $known = $form === null ? null : $this->book()['forms'][$form] ?? null;
        if ($known !== null) {
            return $known;
        }
        $session = $this->payments->call('POST', '/v1/checkout-sessions/', [
            'mode' => 'payment',
            'currency' => 'XAF',
            'success_url' => 'https://shop.example.com/thanks',
            'customer_email' => $email,
            'line_items' => [['description' => 'Basket', 'unit_amount' => PRICE, 'quantity' => $baskets]],
        ], $form ?? bin2hex(random_bytes(16)));
        $this->change(function (array &$book) use ($session, $baskets, $form): void {
            if ($form !== null) {
                $book['forms'][$form] = $session['url'];
            }
            $book['orders'][$session['id']] ??= ['baskets' => $baskets, 'status' => 'open', 'shipped' => 0];
        });
        return $session['url'];
    }

    /** The page to which the buyer returns, which proves nothing; the order's status. */
    public function thank(string $session): ?string
    {
        if (isset($this->book()['orders'][$session])) {
            $this->lookUp($session);
        }
        return $this->book()['orders'][$session]['status'] ?? null;
    }

    /** Sign a member up, who pays now and every month; the customer's id. */
    public function join(string $email, string $phone): string
    {
        $person = ['email' => $email, 'name' => $email, 'phone' => $phone];
        $customer = $this->payments->call('POST', '/v1/customers/', $person, bin2hex(random_bytes(16)))['id'];
        // Before the request that charges: its webhook may come before its answer.
        $this->change(function (array &$book) use ($customer): void {
            $book['members'][$customer] = ['status' => 'joining', 'latest' => '', 'paid' => []];
        });
        $terms = ['customer' => $customer, 'unit_amount' => FEE, 'interval' => 'month'];
        $this->payments->call('POST', '/v1/subscriptions/', $terms, "subscription-of-$customer");
        return $customer;
    }

    /** Pay back a part of an order. A second click on the button pays nothing more. */
    public function refund(string $session, int $amount): string
    {
        $intent = $this->payments->get("/v1/checkout-sessions/$session/")['payment_intent'];
        $body = ['transaction' => $this->payments->get("/v1/payment-intents/$intent/")['transaction'], 'amount' => $amount];
        return $this->payments->call('POST', '/v1/refunds/', $body, "refund-$session-$amount")['id'];
    }

    /** Every night: look up what no webhook has said. */
    public function reconcile(): void
    {
        $book = $this->book();
        foreach (array_keys($book['orders']) as $session) {
            if ($book['orders'][$session]['status'] !== 'paid') {
                $this->lookUp($session);
            }
        }
        foreach (array_keys($book['members']) as $customer) {
            foreach ($this->payments->get("/v1/subscriptions/?customer=$customer")['data'] as $subscription) {
                $path = "/v1/invoices/?page_size=100&status=paid&subscription={$subscription['id']}";
                $paid = array_column($this->payments->get($path)['data'], 'id');
                $this->change(function (array &$book) use ($customer, $subscription, $paid): void {
                    $member = &$book['members'][$customer];
                    $member['status'] = STATUSES["subscription.{$subscription['status']}"] ?? $member['status'];
                    $member['paid'] = array_values(array_unique([...$member['paid'], ...$paid]));
                });
            }
        }
    }

    /** Whether a webhook is the service's. The ping that tries the address comes before anybody knows the secret. */
    public function isGenuine(string $signature, string $body): bool
    {
        $event = json_decode($body, true);
        $expected = hash_hmac('sha256', $body, $this->secret ?: ($this->book()['secret'] ?? ''));
        return is_array($event) && (($event['type'] ?? '') === 'webhook.ping' || hash_equals($expected, $signature));
    }

    /** Take a webhook that is genuine. An event may arrive twice; the second time there is nothing left to do. */
    public function hear(string $body): void
    {
        $event = json_decode($body, true);
        $this->change(function (array &$book) use ($event): void {
            if (!isset($book['handled'][$event['id']])) {
                $book['handled'][$event['id']] = true;
                self::handle($book, $event['type'], $event['created_at'], $event['data']['object']);
            }
        });
    }

    /** Run a command of the operator. */
    public function run(array $command): void
    {
        match ($command[0] ?? '') {
            'register' => $this->register($command[1]),
            'refund' => print($this->refund($command[1], (int) $command[2])),
            'reconcile' => $this->reconcile(),
        };
    }

    /** Register the webhook endpoint, and store its secret. */
    public function register(string $url): void
    {
        $endpoint = $this->payments->call('POST', '/v1/webhooks/', ['name' => 'Shop', 'url' => $url, 'events' => EVENTS], $url);
        $this->change(function (array &$book) use ($endpoint): void {
            $book['secret'] = $endpoint['secret'];
        });
    }

    private static function handle(array &$book, string $type, string $at, array $about): void
    {
        $session = $about['checkout_session'] ?? $about['id'] ?? '';
        $order = $book['orders'][$session] ?? null;
        if ($order && $type === 'checkout.session.completed' && $about['amount_total'] === $order['baskets'] * PRICE) {
            self::ship($book, $session);
        }
        // Events may come in any order: a paid order stays paid.
        if ($order && $type === 'payment_intent.failed' && $order['status'] !== 'paid') {
            $book['orders'][$session]['status'] = 'declined';
        }
        $customer = $about['customer'] ?? '';
        if (!isset($book['members'][$customer], STATUSES[$type])) {
            return;
        }
        $member = &$book['members'][$customer];
        if ($type === 'invoice.paid' && !in_array($about['id'], $member['paid'], true)) {
            $member['paid'][] = $about['id'];
        }
        // An older event does not undo what a newer one said.
        if ($at >= $member['latest']) {
            [$member['status'], $member['latest']] = [STATUSES[$type], $at];
        }
    }

    private function lookUp(string $session): void
    {
        if ($this->payments->get("/v1/checkout-sessions/$session/")['status'] === 'complete') {
            $this->change(function (array &$book) use ($session): void {
                self::ship($book, $session);
            });
        }
    }

    private static function ship(array &$book, string $session): void
    {
        $order = &$book['orders'][$session];
        if ($order['status'] !== 'paid') {
            $order['status'] = 'paid';
            $order['shipped'] += $order['baskets'];
        }
    }

    private function book(): array
    {
        return $this->change(static fn (array $book): array => $book);
    }

    /** Change the book of the shop, one process at a time. It is replaced as a whole: a crash leaves the old or the new one. */
    private function change(callable $change): mixed
    {
        $lock = fopen("$this->file.lock", 'c');
        flock($lock, LOCK_EX);
        $before = is_file($this->file) ? file_get_contents($this->file) : '';
        $book = json_decode($before, true) ?? ['orders' => [], 'members' => [], 'handled' => []];
        $result = $change($book);
        $after = json_encode($book, JSON_THROW_ON_ERROR);
        if ($after !== $before) {
            file_put_contents("$this->file.new", $after);
            rename("$this->file.new", $this->file);
        }
        fclose($lock); // which unlocks it
        return $result;
    }
}
