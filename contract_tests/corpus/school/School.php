<?php

declare(strict_types=1);

require_once __DIR__ . '/Payments.php';

/** A school takes fees by payment link and bills trips by invoice; its book is a file. */
final class School
{
    private const TRIP = 12000;

    public function __construct(public readonly Payments $payments, private string $file)
    {
    }

    public static function fromEnvironment(): self
    {
        $url = (string) getenv('PAYMENTS_EMULATOR_URL');
        $payments = new Payments($url, (string) getenv('PAYMENTS_EMULATOR_KEY'));
        return new self($payments, (getenv('PAYMENTS_EMULATOR_FOLDER') ?: '.') . '/school.json');
    }

    /** Put up the link for the fees of a term, in one currency. */
    public function openTerm(string $term, string $currency, int $amount, string $home): string
    {
        $link = $this->payments->call('POST', '/v1/payment-links/', [
            'payment_link_type' => 'custom', 'currency' => $currency, 'amount' => $amount,
            'name' => "School fees $term", 'metadata' => ['term' => $term],
            'redirect_url' => ['success' => "$home/thanks"],
        ], "term-$term-$currency")['id'];
        $this->change(function (array &$book) use ($link, $term): void {
            $book['links'][$link] = $term;
        });
        return $link;
    }

    /** The page to which parents come back; it thanks them, which proves nothing. */
    public function thank(string $parent): void
    {
        bug('trust_redirect') && $this->change(function (array &$book) use ($parent): void {
            $book['parents'][$parent]['status'] = 'paid';
        });
    }

    /** Bill a trip; the invoice is the parents' until they pay it. */
    public function bill(string $parent, string $due): string
    {
        $customer = $this->customerOf($parent);
        $lines = [['description' => 'Trip', 'unit_amount' => self::TRIP, 'quantity' => 1]];
        $order = ['customer' => $customer['id'], 'line_items' => $lines, 'due_date' => $due];
        $invoice = $this->payments->call('POST', '/v1/invoices/', $order, "trip-$parent")['id'];
        $this->change(function (array &$book) use ($invoice, $parent): void {
            $book['trips'][$invoice] ??= ['parent' => $parent, 'status' => 'billed', 'seats' => 0];
        });
        $this->payments->call('POST', "/v1/invoices/$invoice/finalize/", [], "bill-$parent");
        return $invoice;
    }

    /** The service knows everybody who has paid by the link. */
    private function customerOf(string $parent): array
    {
        $person = ['email' => $parent, 'name' => $parent];
        try {
            return $this->payments->call('POST', '/v1/customers/', $person, "parent-$parent");
        } catch (ServiceError $error) {
            if ($error->getCode() !== 409) {
                throw $error;
            }
            return $this->payments->get('/v1/customers/?search=' . urlencode($parent))['data'][0];
        }
    }

    /** Take an event that is genuine. */
    public function hear(array $event): void
    {
        $about = $event['data']['object'];
        if (bug('dedupe_by_event')) {
            $isKnown = $this->change(function (array &$book) use ($event): bool {
                $isKnown = isset($book['handled'][$event['id']]);
                $book['handled'][$event['id']] = true;
                return $isKnown;
            });
            if ($isKnown) {
                return;
            }
        }
        match ($event['type']) {
            'payment_intent.succeeded' =>
                $this->feePaid($about, bug('no_dedupe') || bug('dedupe_by_event')),
            'payment_intent.failed' => $this->feeFailed($about),
            'invoice.paid' => $this->tripIs('paid', $about['id']),
            'invoice.payment_overdue' => $this->tripIs('overdue', $about['id']),
            default => null,
        };
    }

    /** Book a fee once, with what is left of it after the service's own fee. */
    private function feePaid(array $intent, bool $repeats = false): void
    {
        if (!isset($this->book()['links'][$intent['payment_link'] ?? ''])) {
            return;
        }
        $path = "/v1/transactions/{$intent['transaction']}/";
        $net = $this->payments->get($path)['net_amount'];
        $this->change(function (array &$book) use ($intent, $net, $repeats): void {
            $parent = &$book['parents'][$intent['customer_email']];
            if ($repeats || !isset($book['fees'][$intent['id']])) {
                $book['fees'][$intent['id']] = $net;
                $parent['status'] = 'paid';
                $parent['net'] = ($parent['net'] ?? 0) + $net;
            }
        });
    }

    private function feeFailed(array $intent): void
    {
        $parent = $intent['customer_email'] ?? '';
        if (!isset($this->book()['links'][$intent['payment_link'] ?? ''])) {
            return;
        }
        $this->change(function (array &$book) use ($parent): void {
            if (($book['parents'][$parent]['status'] ?? '') !== 'paid' || bug('failed_is_final')) {
                $book['parents'][$parent]['status'] = 'failed';
            }
        });
    }

    /** A trip that is paid has its seat, and stays paid whatever comes late. */
    private function tripIs(string $status, string $invoice): void
    {
        $this->change(function (array &$book) use ($status, $invoice): void {
            if (!isset($book['trips'][$invoice])) {
                return;
            }
            $trip = &$book['trips'][$invoice];
            if ($status === 'paid' && $trip['seats'] === 0) {
                $trip['seats'] = 1;
            }
            if ($trip['status'] !== 'paid' || bug('late_event_wins')) {
                $trip['status'] = $status;
            }
        });
    }

    /** Every night: ask for what no webhook has said. */
    public function night(): void
    {
        if (bug('no_reconcile')) {
            return;
        }
        $paid = $this->payments->every('/v1/payment-intents/?status=succeeded&page_size=100');
        array_map(fn (array $intent) => $this->feePaid($intent), $paid);
        foreach ($this->book()['trips'] as $invoice => $trip) {
            if ($trip['status'] !== 'paid') {
                $status = $this->payments->get("/v1/invoices/$invoice/")['status'];
                $status === 'paid' && $this->tripIs('paid', $invoice);
            }
        }
    }

    /** The fees of a month, by currency, as the treasurer sees them. */
    public function month(int $year, int $month): void
    {
        $first = new DateTimeImmutable("$year-$month-01", new DateTimeZone('UTC'));
        $days = bug('leap_day') && $month === 2 ? 28 : (int) $first->format('t');
        $last = $first->modify('+' . ($days - 1) . ' days');
        $end = $last->format('Y-m-d') . (bug('end_of_month') ? 'T00:00:00Z' : 'T23:59:59.999Z');
        $start = $first->format('Y-m-d\T00:00:00\Z');
        $bounds = "created_after=$start&created_before=$end";
        $path = "/v1/transactions/?page_size=100&type=deposit&$bounds";
        $sums = [];
        foreach ($this->payments->every($path) as $transaction) {
            $currency = bug('sum_of_currencies') ? 'XAF' : $transaction['currency'];
            $sums[$currency] = ($sums[$currency] ?? 0) + $transaction['amount'];
        }
        $this->change(function (array &$book) use ($sums, $year, $month): void {
            $book['months']["$year-$month"] = $sums;
        });
    }

    /** The book without ids and times. */
    public function report(): array
    {
        $book = $this->book();
        $trips = array_column($book['trips'], null, 'parent');
        return ['parents' => $book['parents'], 'trips' => $trips, 'months' => $book['months']];
    }

    public function isGenuine(?string $signature, string $body): bool
    {
        $secret = getenv('WEBHOOK_SECRET') ?: ($this->book()['secret'] ?? '');
        $signed = bug('parsed_body') ? json_encode(json_decode($body)) : $body;
        $expected = hash_hmac('sha256', $signed, $secret);
        if (bug('no_signature')) {
            return true;
        }
        if ($signature === null || $signature === '') {
            return bug('missing_header_ok');
        }
        if (bug('shortened_signature')) {
            return strncmp($signature, $expected, strlen($signature)) === 0;
        }
        return hash_equals($expected, $signature);
    }

    public function keep(string $secret): void
    {
        $this->change(function (array &$book) use ($secret): void {
            $book['secret'] = $secret;
        });
    }

    public function book(): array
    {
        return $this->change(static fn (array $book): array => $book);
    }

    /** Change the book, one process at a time; it is replaced as a whole. */
    private function change(callable $change): mixed
    {
        $lock = fopen("$this->file.lock", 'c');
        bug('lost_update') || flock($lock, LOCK_EX);
        $before = is_file($this->file) ? file_get_contents($this->file) : '';
        $book = json_decode($before, true) ?? ['parents' => [], 'trips' => [], 'months' => [],
            'links' => [], 'fees' => [], 'handled' => []];
        $result = $change($book);
        $after = json_encode($book);
        if ($after !== $before) {
            bug('lost_update') && usleep(50_000);
            $new = "$this->file." . getmypid();
            file_put_contents($new, $after);
            rename($new, $this->file);
        }
        fclose($lock);
        return $result;
    }
}
