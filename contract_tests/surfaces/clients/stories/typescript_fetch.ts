// The story with the client that openapi-generator makes for fetch: node story.js SERVER
import {
  CheckoutMode,
  CheckoutSessionsApi,
  CheckoutSessionStatus,
  Configuration,
  CustomersApi,
  ErrorCode,
  Interval,
  InvoicesApi,
  InvoiceStatus,
  RefundsApi,
  RefundStatus,
  ResponseError,
  SubscriptionPlansApi,
  TransactionsApi,
  AnyErrorFromJSON,
} from "./client/index.js";

const KEY = "sk_test_typescript_fetch";
const server = process.argv[2] ?? "";
const configuration = new Configuration({ basePath: `${server}/v1`, accessToken: KEY });

/** Does what no client of the service can: pays as a buyer would, and moves the clock. */
async function control(path: string, body: string): Promise<void> {
  const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
  const answer = await fetch(`${server}/_emulator${path}`, { method: "POST", headers, body });
  expect(answer.ok, path);
}

function expect(fact: boolean, otherwise: string): asserts fact {
  if (!fact) throw new Error(otherwise);
}

const customers = new CustomersApi(configuration);
const customer = await customers.createCustomer({
  customerCreate: { email: "awa@example.com", name: "Awa Diop", phone: "+24177000000" },
});
const plan = await new SubscriptionPlansApi(configuration).createSubscriptionPlan({
  subscriptionPlanCreate: { name: "Basic", amount: 5000, currency: "XAF", interval: Interval.Month },
});

const sessions = new CheckoutSessionsApi(configuration);
const session = await sessions.createCheckoutSession({
  checkoutSessionCreate: {
    mode: CheckoutMode.Subscription,
    currency: "XAF",
    customer: customer.id,
    lineItems: [{ plan: plan.id }],
  },
});
await control(`/checkout-sessions/${session.id}/pay`, "{}");
const paid = await sessions.getCheckoutSession({ id: session.id });
expect(paid.status === CheckoutSessionStatus.Complete, "the session is not complete");

await control("/clock/advance", '{"by": "31d"}');
const invoices = await new InvoicesApi(configuration).listInvoices({
  customer: customer.id,
  status: [InvoiceStatus.Paid],
});
expect(invoices.data.length === 2, "two paid invoices were expected");

const transactions = await new TransactionsApi(configuration).listTransactions({ customer: customer.id });
const [transaction] = transactions.data;
expect(transaction !== undefined, "a transaction was expected");
const refund = await new RefundsApi(configuration).createRefund({
  refundCreate: { transaction: transaction.id, amount: 2000 },
});
expect(refund.status === RefundStatus.Processing, "the refund is not processing");

try {
  await customers.getCustomer({ id: "cust_000000000000000000000000" });
  expect(false, "an error was expected");
} catch (problem) {
  expect(problem instanceof ResponseError, String(problem));
  const error = AnyErrorFromJSON(await problem.response.json());
  expect("code" in error && error.code === ErrorCode.CustomerNotFound, "CUSTOMER_NOT_FOUND was expected");
}
