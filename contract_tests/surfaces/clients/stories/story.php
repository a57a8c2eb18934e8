<?php
// The story with the client that openapi-generator makes for PHP: php story.php SERVER
declare(strict_types=1);

use Payments\Api\CheckoutSessionsApi;
use Payments\Api\CustomersApi;
use Payments\Api\InvoicesApi;
use Payments\Api\RefundsApi;
use Payments\Api\SubscriptionPlansApi;
use Payments\Api\TransactionsApi;
use Payments\ApiException;
use Payments\Configuration;
use Payments\Model\CheckoutLineInput;
use Payments\Model\CheckoutMode;
use Payments\Model\CheckoutSessionCreate;
use Payments\Model\CheckoutSessionStatus;
use Payments\Model\CustomerCreate;
use Payments\Model\ErrorCode;
use Payments\Model\Interval;
use Payments\Model\InvoiceStatus;
use Payments\Model\RefundCreate;
use Payments\Model\RefundStatus;
use Payments\Model\SubscriptionPlanCreate;

const KEY = 'sk_test_php';

set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));
$server = $argv[1];
require 'vendor/autoload.php';

/** Does what no client of the service can: pays as a buyer would, and moves the clock. */
function control(string $url, string $body): void
{
    $headers = ['Authorization: Bearer ' . KEY, 'Content-Type: application/json'];
    $context = stream_context_create(['http' => ['method' => 'POST', 'header' => $headers, 'content' => $body]]);
    expect(file_get_contents($url, false, $context) !== false, $url);
}

function expect(bool $fact, string $otherwise): void
{
    if (!$fact) {
        throw new RuntimeException($otherwise);
    }
}

$configuration = (new Configuration())->setHost("$server/v1")->setAccessToken(KEY);
$http = new GuzzleHttp\Client();

$customers = new CustomersApi($http, $configuration);
$customer = $customers->createCustomer(
    new CustomerCreate(['email' => 'awa@example.com', 'name' => 'Awa Diop', 'phone' => '+24177000000']));
$plan = (new SubscriptionPlansApi($http, $configuration))->createSubscriptionPlan(
    new SubscriptionPlanCreate(['name' => 'Basic', 'amount' => 5000, 'currency' => 'XAF', 'interval' => Interval::MONTH]));

$sessions = new CheckoutSessionsApi($http, $configuration);
$session = $sessions->createCheckoutSession(new CheckoutSessionCreate([
    'mode' => CheckoutMode::SUBSCRIPTION,
    'currency' => 'XAF',
    'customer' => $customer->getId(),
    'line_items' => [new CheckoutLineInput(['plan' => $plan->getId()])],
]));
control("$server/_emulator/checkout-sessions/{$session->getId()}/pay", '{}');
$session = $sessions->getCheckoutSession($session->getId());
expect($session->getStatus() === CheckoutSessionStatus::COMPLETE, 'the session is not complete');

control("$server/_emulator/clock/advance", '{"by": "31d"}');
$invoices = (new InvoicesApi($http, $configuration))->listInvoices([InvoiceStatus::PAID], $customer->getId());
expect(count($invoices->getData()) === 2, 'two paid invoices were expected');

$transactions = (new TransactionsApi($http, $configuration))->listTransactions(customer: $customer->getId());
$refund = (new RefundsApi($http, $configuration))->createRefund(
    new RefundCreate(['transaction' => $transactions->getData()[0]->getId(), 'amount' => 2000]));
expect($refund->getStatus() === RefundStatus::PROCESSING, 'the refund is not processing');

try {
    $customers->getCustomer('cust_000000000000000000000000');
    expect(false, 'an error was expected');
} catch (ApiException $problem) {
    expect($problem->getResponseObject()->getCode() === ErrorCode::CUSTOMER_NOT_FOUND, 'CUSTOMER_NOT_FOUND was expected');
}
